package load

import (
	"bytes"

	"github.com/stepscope/stepscope/internal/base/jsonscan"
)

// Family is the shape of a backend's bodies and events.
type family int

const (
	native family = iota
	completions
	chat
	embeddings
	trt
)

// event is what one event, or one whole reply, says. Byte slices lie in the
// event and are as JSON writes them.
type event struct {
	text      []byte // native: all text so far, unless the server runs incremental; else what is new
	reasoning []byte
	ids       bool // native without tokenizer: it has tokens and no text at all
	tool      bool // a piece of a tool call
	choice    bool // it is about a choice, not only about usage

	completion int // tokens so far; -1: not said
	prompt     int // -1: not said
	cached     int // -1: not said
	details    []byte
	dpRank     int

	finish  []byte // finish_reason, or its type
	message []byte // of an error or an abort
	fault   bool   // an error object
	data    bool   // embeddings: there is a list
}

// parse reads b, one event's JSON.
func (e *event) parse(fam family, b []byte) error {
	*e = event{completion: -1, prompt: -1, cached: -1, dpRank: -1}
	s := jsonscan.New(b)
	if s.Peek() != '{' {
		return jsonscan.ErrSyntax
	}
	noText := true
	for k := range s.Object {
		switch {
		case fam == native && string(k) == "text":
			noText = false
			e.text = s.Str()
		case fam == native && string(k) == "output_ids":
			e.ids = len(s.Value()) > len("[]")
		case fam == native && string(k) == "meta_info":
			e.meta(&s)
		case fam == trt && string(k) == "text_output":
			e.choice = true
			e.text = s.Str()
		case string(k) == "choices":
			e.choices(&s)
		case string(k) == "usage":
			e.usage(&s)
		case string(k) == "sglext":
			e.ext(&s)
		case string(k) == "data":
			e.data = s.Peek() == '['
			s.Skip()
		case string(k) == "error":
			e.fault = s.Peek() != 'n' // null
			e.errorObject(&s)
		case string(k) == "object":
			if string(s.Str()) == "error" {
				e.fault = true
			}
		case string(k) == "message":
			if m := s.Str(); e.message == nil {
				e.message = m
			}
		default:
			s.Skip()
		}
	}
	e.ids = e.ids && noText
	return s.End()
}

// meta reads the meta_info of /generate.
func (e *event) meta(s *jsonscan.Scanner) {
	e.choice = e.choice || s.Peek() == '{'
	for k := range s.Object {
		switch string(k) {
		case "completion_tokens":
			number(s, &e.completion)
		case "prompt_tokens":
			number(s, &e.prompt)
		case "cached_tokens":
			number(s, &e.cached)
		case "dp_rank":
			number(s, &e.dpRank)
		case "cached_tokens_details":
			e.details = object(s)
		case "finish_reason":
			e.finished(s)
		default:
			s.Skip()
		}
	}
}

// finished reads a finish_reason: a word, or SGLang's object with a type.
func (e *event) finished(s *jsonscan.Scanner) {
	if s.Peek() != '{' {
		e.finish = s.Str()
		return
	}
	for k := range s.Object {
		switch string(k) {
		case "type":
			e.finish = s.Str()
		case "message":
			e.message = s.Str()
		default:
			s.Skip()
		}
	}
}

// choices reads the first choice: this client asks for one.
func (e *event) choices(s *jsonscan.Scanner) {
	for range s.List {
		if e.choice || s.Peek() != '{' {
			s.Skip()
			continue
		}
		e.choice = true
		for k := range s.Object {
			switch string(k) {
			case "text":
				e.text = s.Str()
			case "delta", "message":
				e.delta(s)
			case "finish_reason":
				e.finished(s)
			default:
				s.Skip()
			}
		}
	}
}

func (e *event) delta(s *jsonscan.Scanner) {
	for k := range s.Object {
		switch string(k) {
		case "content":
			e.text = s.Str()
		case "reasoning_content":
			if r := s.Str(); len(r) > 0 {
				e.reasoning = r
			}
		case "reasoning": // vLLM; the standard name wins
			if r := s.Str(); len(e.reasoning) == 0 {
				e.reasoning = r
			}
		case "tool_calls":
			e.tool = bytes.IndexByte(s.Value(), '{') >= 0
		default:
			s.Skip()
		}
	}
}

func (e *event) usage(s *jsonscan.Scanner) {
	for k := range s.Object {
		switch string(k) {
		case "completion_tokens":
			number(s, &e.completion)
		case "prompt_tokens":
			number(s, &e.prompt)
		case "prompt_tokens_details":
			for k := range s.Object {
				if string(k) == "cached_tokens" {
					number(s, &e.cached)
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
}

func (e *event) ext(s *jsonscan.Scanner) {
	for k := range s.Object {
		if string(k) == "cached_tokens_details" {
			e.details = object(s)
		} else {
			s.Skip()
		}
	}
}

// errorObject reads {"message": …}, or the message alone.
func (e *event) errorObject(s *jsonscan.Scanner) {
	if s.Peek() != '{' {
		e.message = s.Str()
		return
	}
	for k := range s.Object {
		if string(k) == "message" {
			e.message = s.Str()
		} else {
			s.Skip()
		}
	}
}

// number keeps the number that stands next, if it is one.
func number(s *jsonscan.Scanner, to *int) {
	if n, ok := s.Num(); ok {
		*to = n
	}
}

// object gives the object that stands next, as it is written.
func object(s *jsonscan.Scanner) []byte {
	if s.Peek() == '{' {
		return s.Value()
	}
	s.Skip()
	return nil
}

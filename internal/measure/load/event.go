package load

import (
	"bytes"

	"github.com/stepscope/stepscope/internal/base/jsonscan"
)

// family is the format of a backend's bodies and events.
type family int

const (
	native family = iota
	completions
	chat
	embeddings
	trt
	images
)

// event is the content of one event or of a whole reply. Byte slices point into the event's JSON text.
type event struct {
	// text is all text so far if the format is native and the server does not stream incrementally. Otherwise it is
	// only the new text.
	text      []byte
	reasoning []byte
	ids       bool // native, if the server has no tokenizer: the event has tokens without any text
	tool      bool // part of a tool call
	choice    bool // contains a choice, not only usage

	completion int // completion tokens so far; -1: not given
	prompt     int // -1: not given
	cached     int // -1: not given
	details    []byte
	dpRank     int

	finish  []byte // finish_reason, or the type of finish_reason
	message []byte // message of an error or an abort
	fault   bool   // an error object
	data    bool   // embeddings, images: the event contains some
}

// parse sets e to the content of b, the JSON text of one event.
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
			for range s.List {
				e.data = true
				s.Skip()
			}
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

// meta parses the meta_info of /generate.
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

// finished parses a finish_reason: a word, or SGLang's object with a type.
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

// choices parses the first choice. This client requests only one choice.
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
		case "reasoning": // vLLM's key; the standard key has precedence
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

// errorObject parses {"message": …}, or a bare message.
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

// number stores the next value if it is a number.
func number(s *jsonscan.Scanner, to *int) {
	if n, ok := s.Num(); ok {
		*to = n
	}
}

// object returns the JSON text of the next value if it is an object.
func object(s *jsonscan.Scanner) []byte {
	if s.Peek() == '{' {
		return s.Value()
	}
	s.Skip()
	return nil
}

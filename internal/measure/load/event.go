package load

import "bytes"

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
	s := scanner{b: b}
	if s.peek() != '{' {
		return errJSON
	}
	s.enter('{')
	noText := true
	for {
		k, ok := s.key()
		if !ok {
			break
		}
		switch {
		case fam == native && string(k) == "text":
			noText = false
			e.text = s.str()
		case fam == native && string(k) == "output_ids":
			from := s.i
			s.skip()
			e.ids = s.i-from > len("[]")
		case fam == native && string(k) == "meta_info":
			e.meta(&s)
		case fam == trt && string(k) == "text_output":
			e.choice = true
			e.text = s.str()
		case string(k) == "choices":
			e.choices(&s)
		case string(k) == "usage":
			e.usage(&s)
		case string(k) == "sglext":
			e.ext(&s)
		case string(k) == "data":
			e.data = s.peek() == '['
			s.skip()
		case string(k) == "error":
			e.fault = s.peek() != 'n' // null
			e.errorObject(&s)
		case string(k) == "object":
			if string(s.str()) == "error" {
				e.fault = true
			}
		case string(k) == "message":
			if m := s.str(); e.message == nil {
				e.message = m
			}
		default:
			s.skip()
		}
	}
	e.ids = e.ids && noText
	return s.end()
}

// meta reads the meta_info of /generate.
func (e *event) meta(s *scanner) {
	if !s.enter('{') {
		return
	}
	e.choice = true
	for {
		k, ok := s.key()
		if !ok {
			return
		}
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
			s.skip()
		}
	}
}

// finished reads a finish_reason: a word, or SGLang's object with a type.
func (e *event) finished(s *scanner) {
	if s.peek() != '{' {
		e.finish = s.str()
		return
	}
	s.enter('{')
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		switch string(k) {
		case "type":
			e.finish = s.str()
		case "message":
			e.message = s.str()
		default:
			s.skip()
		}
	}
}

// choices reads the first choice: this client asks for one.
func (e *event) choices(s *scanner) {
	if !s.enter('[') {
		return
	}
	for s.more(']') {
		if e.choice {
			s.skip()
			continue
		}
		if !s.enter('{') {
			continue
		}
		e.choice = true
		for {
			k, ok := s.key()
			if !ok {
				break
			}
			switch string(k) {
			case "text":
				e.text = s.str()
			case "delta", "message":
				e.delta(s)
			case "finish_reason":
				e.finished(s)
			default:
				s.skip()
			}
		}
	}
}

func (e *event) delta(s *scanner) {
	if !s.enter('{') {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		switch string(k) {
		case "content":
			e.text = s.str()
		case "reasoning_content":
			if r := s.str(); len(r) > 0 {
				e.reasoning = r
			}
		case "reasoning": // vLLM; the standard name wins
			if r := s.str(); len(e.reasoning) == 0 {
				e.reasoning = r
			}
		case "tool_calls":
			from := s.i
			s.skip()
			e.tool = bytes.IndexByte(s.b[from:s.i], '{') >= 0
		default:
			s.skip()
		}
	}
}

func (e *event) usage(s *scanner) {
	if !s.enter('{') {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		switch string(k) {
		case "completion_tokens":
			number(s, &e.completion)
		case "prompt_tokens":
			number(s, &e.prompt)
		case "prompt_tokens_details":
			if !s.enter('{') {
				continue
			}
			for {
				k, ok := s.key()
				if !ok {
					break
				}
				if string(k) == "cached_tokens" {
					number(s, &e.cached)
				} else {
					s.skip()
				}
			}
		default:
			s.skip()
		}
	}
}

func (e *event) ext(s *scanner) {
	if !s.enter('{') {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		if string(k) == "cached_tokens_details" {
			e.details = object(s)
		} else {
			s.skip()
		}
	}
}

// errorObject reads {"message": …}, or the message alone.
func (e *event) errorObject(s *scanner) {
	if s.peek() != '{' {
		e.message = s.str()
		return
	}
	s.enter('{')
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		if string(k) == "message" {
			e.message = s.str()
		} else {
			s.skip()
		}
	}
}

// number keeps the number that stands next, if it is one.
func number(s *scanner, to *int) {
	if n, ok := s.num(); ok {
		*to = n
	}
}

// object gives the object that stands next, as it is written.
func object(s *scanner) []byte {
	if s.peek() != '{' {
		s.skip()
		return nil
	}
	from := s.i
	s.skip()
	return s.b[from:s.i:s.i]
}

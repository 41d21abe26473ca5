package route

import "github.com/stepscope/stepscope/internal/base/jsonscan"

// The router parses only the parts of a body that it needs: the location of the prompt, for cache_aware, and the number
// of prompts, for PD. Both are members of the outermost object. The worker, not the router, checks that the rest is
// valid JSON.

// scanObject calls visit for each member of a JSON object, in order. The key has no quotation marks but is still
// escaped. end is the position of the object's closing brace, and n is the number of members. ok is false if the
// scanned part of body is not an object.
func scanObject(body []byte, visit func(key, value []byte)) (end, n int, ok bool) {
	s := jsonscan.New(body)
	if s.Peek() != '{' {
		return 0, 0, false
	}
	for key := range s.Object {
		visit(key, s.Value())
		n++
	}
	end = s.At() - 1
	return end, n, s.End() == nil
}

// prompt returns the raw prompt of a request to a generation route: text, token ids or messages. If the prompts of two
// requests have a common prefix, the raw prompts also have a common prefix.
func prompt(body []byte) (raw []byte) {
	scanObject(body, func(key, value []byte) {
		switch string(key) {
		case "text", "prompt", "messages", "input_ids", "input":
			if len(value) > len(raw) { // ignore a null member in addition to the real prompt
				raw = value
			}
		}
	})
	return raw
}

// batch returns the number of prompts in a body. single means that the body has no list of prompts.
func batch(body []byte) (n int, single bool) {
	single = true
	scanObject(body, func(key, value []byte) {
		switch string(key) {
		case "text", "prompt", "input_ids":
			k, prompts := 0, false
			s := jsonscan.New(value)
			for range s.List {
				// A list of numbers contains the token ids of one prompt.
				if c := s.Peek(); k == 0 {
					prompts = c == '"' || c == '['
				}
				s.Skip()
				k++
			}
			if prompts && s.End() == nil {
				n, single = k, false
			}
		}
	})
	return n, single
}

package route

import "github.com/stepscope/stepscope/internal/base/jsonscan"

// The router reads no more of a body than it must: where the prompt is, for
// cache_aware, and how many prompts there are, for PD. Both are values of the outer
// object; whether all of it is valid JSON the worker says.

// scanObject calls visit with each key, without quotes and as it is escaped, and each
// value of a JSON object, in order. end is the place of the object's last brace, n its
// number of members. ok is false where body is no object, as far as can be seen.
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

// prompt is the raw prompt of a request to one of the generation routes: text,
// token ids or messages. Requests whose prompts begin alike have raw prompts that do.
func prompt(body []byte) (raw []byte) {
	scanObject(body, func(key, value []byte) {
		switch string(key) {
		case "text", "prompt", "messages", "input_ids", "input":
			if len(value) > len(raw) { // not a null beside the other
				raw = value
			}
		}
	})
	return raw
}

// batch is how many prompts a body has; single for one that is no list of them.
func batch(body []byte) (n int, single bool) {
	single = true
	scanObject(body, func(key, value []byte) {
		switch string(key) {
		case "text", "prompt", "input_ids":
			k, prompts := 0, false
			s := jsonscan.New(value)
			for range s.List {
				// A flat list of numbers is one prompt's token ids.
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

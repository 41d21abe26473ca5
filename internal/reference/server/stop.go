package server

// Stop strings are matched in the text and not in the tokens, because a stop string may begin in the middle of one
// token and end in the middle of another. Each stop string has a Knuth-Morris-Pratt automaton over bytes. The
// automaton's state is the length of the longest prefix of the stop string that is a suffix of the text. Therefore
// every byte is read once. The largest state of all automata is the number of bytes to hold back. The result does not
// depend on the division of the text into tokens.

type stopper struct {
	stops []stopString
	held  []byte // text that may begin a stop string
}

type stopString struct {
	text  string
	fail  []int // fail[i]: longest proper border of text[:i+1]
	state int
}

func newStopper(texts []string) *stopper {
	s := &stopper{}
	for _, t := range texts {
		if t == "" {
			continue // an empty string would match everywhere; SGLang never matches it either
		}
		fail := make([]int, len(t))
		for i, k := 1, 0; i < len(t); i++ {
			for k > 0 && t[i] != t[k] {
				k = fail[k-1]
			}
			if t[i] == t[k] {
				k++
			}
			fail[i] = k
		}
		s.stops = append(s.stops, stopString{text: t, fail: fail})
	}
	return s
}

// feed adds text and returns the part that can be released. If a stop string ends in the added text, matched is that
// stop string, released ends where the stop string begins, and rest is the text from that point. If several stop
// strings match, matched is the one that ends first. Among those that end at the same byte, it is the longest.
func (s *stopper) feed(text string) (released string, matched *string, rest string) {
	if len(s.stops) == 0 {
		return text, nil, ""
	}
	from := len(s.held)
	s.held = append(s.held, text...)
	for i := from; i < len(s.held); i++ {
		var hit *stopString
		for j := range s.stops {
			st := &s.stops[j]
			if st.step(s.held[i]) && (hit == nil || len(st.text) > len(hit.text)) {
				hit = st
			}
		}
		if hit != nil {
			start := i + 1 - len(hit.text)
			released, rest = string(s.held[:start]), string(s.held[start:])
			s.held = nil
			return released, &hit.text, rest
		}
	}
	hold := 0
	for i := range s.stops {
		hold = max(hold, s.stops[i].state)
	}
	cut := len(s.held) - hold
	released = string(s.held[:cut])
	s.held = append(s.held[:0], s.held[cut:]...)
	return released, nil, ""
}

// flush returns the text that is still held back. It is called when no more text follows.
func (s *stopper) flush() string {
	t := string(s.held)
	s.held = nil
	return t
}

// step adds one byte and reports whether the string ends with it.
func (s *stopString) step(c byte) bool {
	for s.state > 0 && s.text[s.state] != c {
		s.state = s.fail[s.state-1]
	}
	if s.text[s.state] == c {
		s.state++
	}
	if s.state == len(s.text) {
		s.state = s.fail[s.state-1]
		return true
	}
	return false
}

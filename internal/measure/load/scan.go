package load

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner walks one JSON text in place and allocates nothing. It holds to the
// structure of what it enters and of what it skips only the brackets and the
// quotes: half an event is an error, an odd number inside a skipped list is not.
// Whatever encoding/json accepts it reads alike; the fuzz test holds it to that.
type scanner struct {
	b []byte
	i int
	// first: the next key or element is the first of its object or list.
	first bool
	err   error
}

var errJSON = errors.New("not JSON")

func (s *scanner) fail() { s.err = errJSON; s.i = len(s.b) }

// peek gives the next byte that is no space, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// enter goes into the object or list that opens with c; false: the value is
// something else, and skipped.
func (s *scanner) enter(c byte) bool {
	if s.peek() != c {
		s.skip()
		return false
	}
	s.i++
	s.first = true
	return true
}

// key gives the next key of the object that was entered, as it is written, and
// stands at its value; false at the end of the object. The keys that matter are
// plain words: one written with escapes is taken for another.
func (s *scanner) key() ([]byte, bool) {
	if !s.more('}') {
		return nil, false
	}
	if s.peek() != '"' {
		s.fail()
		return nil, false
	}
	k := s.str()
	if s.peek() != ':' {
		s.fail()
		return nil, false
	}
	s.i++
	return k, s.err == nil
}

// more stands at the next element of the list that was entered.
func (s *scanner) more(closing byte) bool {
	c := s.peek()
	first := s.first
	s.first = false
	switch {
	case c == closing:
		s.i++
		return false
	case c == ',' && !first:
		s.i++
		if s.peek() == closing {
			s.fail()
			return false
		}
	case !first || c == 0:
		s.fail()
		return false
	}
	return true
}

// str reads a string and gives it as it is written, without its quotes. A value
// of another type is skipped and gives nil; "" is not nil.
func (s *scanner) str() []byte {
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	s.i++
	from := s.i
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			s.fail()
			return nil
		}
		// The quote is text when an odd number of backslashes stands before it.
		end := s.i + n
		slashes := 0
		for end-slashes > from && s.b[end-slashes-1] == '\\' {
			slashes++
		}
		s.i = end + 1
		if slashes%2 == 0 {
			return s.b[from:end:end]
		}
	}
}

// num reads an integer; a fraction is cut off. What is no number, or is too large
// to count tokens, is skipped and gives false.
func (s *scanner) num() (int, bool) {
	s.peek()
	at := s.i
	neg := at < len(s.b) && s.b[at] == '-'
	if neg {
		at++
	}
	n, from := 0, at
	for ; at < len(s.b) && s.b[at]-'0' <= 9; at++ {
		n = n*10 + int(s.b[at]-'0')
	}
	digits := at - from
	rest := byte(0)
	if at < len(s.b) {
		rest = s.b[at]
	}
	s.skip()
	if digits == 0 || digits > 15 || rest == 'e' || rest == 'E' {
		return 0, false
	}
	if neg {
		n = -n
	}
	return n, s.err == nil
}

// skip goes past one value.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '"':
		s.str()
	case '{', '[':
		s.skipNested()
	default:
		from := s.i
		for s.i < len(s.b) && !ends[s.b[s.i]] {
			s.i++
		}
		if s.i == from {
			s.fail()
		}
	}
	s.first = false
}

// ends are the bytes that end a number or a word.
var ends = [256]bool{',': true, '}': true, ']': true, ' ': true, '\t': true, '\n': true, '\r': true, ':': true, '"': true, '{': true, '[': true}

// nests are the bytes that matter inside a value that is skipped.
var nests = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

func (s *scanner) skipNested() {
	// Long lists are lists of numbers: token ids.
	if s.b[s.i] == '[' {
		if n := bytes.IndexByte(s.b[s.i:], ']'); n > 64 {
			in := s.b[s.i+1 : s.i+n]
			if bytes.IndexByte(in, '"') < 0 && bytes.IndexByte(in, '[') < 0 && bytes.IndexByte(in, '{') < 0 {
				s.i += n + 1
				return
			}
		}
	}
	for depth := 0; s.i < len(s.b); {
		c := s.b[s.i]
		if !nests[c] {
			s.i++
			continue
		}
		switch c {
		case '"':
			s.str()
			continue
		case '{', '[':
			depth++
		default:
			depth--
		}
		s.i++
		if depth == 0 {
			return
		}
	}
	s.fail()
}

// end tells that nothing but space is left.
func (s *scanner) end() error {
	if s.err == nil && s.peek() != 0 {
		s.fail()
	}
	return s.err
}

// unquote gives the text of the inside of a JSON string, as encoding/json reads it.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\' && i+1 < len(raw):
			i += 2
			if c = raw[i-1]; c != 'u' {
				if at := bytes.IndexByte([]byte("bfnrt"), c); at >= 0 {
					c = "\b\f\n\r\t"[at]
				}
				out = append(out, c)
				continue
			}
			r := hex4(raw[i:])
			i = min(i+4, len(raw))
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+1 < len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					low = hex4(raw[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i = min(i+6, len(raw))
				}
			}
			out = utf8.AppendRune(out, r)
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out)
}

// hex4 reads four hexadecimal digits; -1: there are none.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | d
	}
	return r
}

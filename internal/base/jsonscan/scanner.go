// Package jsonscan reads JSON in place, where encoding/json would be too slow or would
// read more than is wanted: events of a stream as they come, the prompt of a body that is
// passed on.
//
// A [Scanner] walks one text and allocates nothing. It holds to the structure of what it
// enters, and of what it skips only to the brackets and the quotes: half an event is an
// error, an odd number inside a skipped list is not. Whatever encoding/json accepts it
// reads alike; fuzz tests of its users hold it to that.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// A Scanner walks one JSON text. The zero Scanner is at the end of none.
type Scanner struct {
	b []byte
	i int
	// first: the next key or element is the first of its object or list.
	first bool
	err   error
}

// ErrSyntax is the error of a text that is no JSON.
var ErrSyntax = errors.New("not JSON")

// New begins at the start of a text.
func New(text []byte) Scanner { return Scanner{b: text} }

func (s *Scanner) fail() { s.err = ErrSyntax; s.i = len(s.b) }

// Peek gives the next byte that is no space, 0 at the end.
func (s *Scanner) Peek() byte {
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
func (s *Scanner) enter(c byte) bool {
	if s.Peek() != c {
		s.Skip()
		return false
	}
	s.i++
	s.first = true
	return true
}

// Object goes through the members of an object: it stands at the value of each key,
// which is as it is written and which the loop has to take. A value of another type is
// skipped. The keys that matter are plain words: one written with escapes is taken for
// another.
func (s *Scanner) Object(each func(key []byte) bool) {
	if !s.enter('{') {
		return
	}
	for s.more('}') {
		if s.Peek() != '"' {
			s.fail()
			return
		}
		k := s.Str()
		if s.Peek() != ':' {
			s.fail()
			return
		}
		s.i++
		if s.err != nil || !each(k) {
			return
		}
	}
}

// List goes through the elements of a list, of which the loop has to take each. A value
// of another type is skipped.
func (s *Scanner) List(each func() bool) {
	if !s.enter('[') {
		return
	}
	for s.more(']') && each() {
	}
}

// more stands at the next element of the list that was entered.
func (s *Scanner) more(closing byte) bool {
	c := s.Peek()
	first := s.first
	s.first = false
	switch {
	case c == closing:
		s.i++
		return false
	case c == ',' && !first:
		s.i++
		if s.Peek() == closing {
			s.fail()
			return false
		}
	case !first || c == 0:
		s.fail()
		return false
	}
	return true
}

// Str reads a string and gives it as it is written, without its quotes. A value
// of another type is skipped and gives nil; "" is not nil.
func (s *Scanner) Str() []byte {
	if s.Peek() != '"' {
		s.Skip()
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

// Num reads an integer; a fraction is cut off. What is no number, or is too large
// to count tokens, is skipped and gives false.
func (s *Scanner) Num() (int, bool) {
	s.Peek()
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
	s.Skip()
	if digits == 0 || digits > 15 || rest == 'e' || rest == 'E' {
		return 0, false
	}
	if neg {
		n = -n
	}
	return n, s.err == nil
}

// Skip goes past one value.
func (s *Scanner) Skip() {
	switch c := s.Peek(); c {
	case '"':
		s.Str()
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

// Value goes past one value and gives it as it is written; nil: it is not whole.
func (s *Scanner) Value() []byte {
	s.Peek()
	from := s.i
	if s.Skip(); s.err != nil {
		return nil
	}
	return s.b[from:s.i:s.i]
}

// ends are the bytes that end a number or a word.
var ends = [256]bool{',': true, '}': true, ']': true, ' ': true, '\t': true, '\n': true, '\r': true, ':': true, '"': true, '{': true, '[': true}

// nests are the bytes that matter inside a value that is skipped.
var nests = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

func (s *Scanner) skipNested() {
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
			s.Str()
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

// End tells that nothing but space is left.
func (s *Scanner) End() error {
	if s.err == nil && s.Peek() != 0 {
		s.fail()
	}
	return s.err
}

// At is the place of the next byte.
func (s *Scanner) At() int { return s.i }

// Unquote gives the text of the inside of a JSON string.
func Unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &text) != nil { // a server's own escapes
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	return text
}

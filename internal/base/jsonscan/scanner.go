// Package jsonscan reads JSON in place. It is for texts for which encoding/json would be too slow or would read more
// than needed: the events of a stream, and the prompt in a forwarded body.
//
// A [Scanner] walks one text and allocates nothing. It checks the structure of the values that it enters. In skipped
// values it checks only brackets and quotes: a truncated event is an error, but an invalid number in a skipped list is
// not. For every text that encoding/json accepts, the Scanner returns the same result. Fuzz tests in the packages that
// use it verify that.
package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// Scanner walks one JSON text. The zero value is a Scanner at the end of an empty text.
type Scanner struct {
	b []byte
	i int
	// first is set if the next key or element is the first one of the current object or list.
	first bool
	err   error
}

// ErrSyntax is the error for invalid JSON.
var ErrSyntax = errors.New("not JSON")

// New returns a Scanner at the start of text.
func New(text []byte) Scanner { return Scanner{b: text} }

func (s *Scanner) fail() { s.err = ErrSyntax; s.i = len(s.b) }

// Peek returns the next byte that is not a space, or 0 at the end.
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

// enter enters the object or list that opens with c. It skips any other value and returns false.
func (s *Scanner) enter(c byte) bool {
	if s.Peek() != c {
		s.Skip()
		return false
	}
	s.i++
	s.first = true
	return true
}

// Object calls each with the raw key of every member of an object. each must consume the member's value. A value of
// another type is skipped. Keys with escapes are not decoded, so they never match a plain word.
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

// List calls each for every element of a list. each must consume the element. A value of another type is skipped.
func (s *Scanner) List(each func() bool) {
	if !s.enter('[') {
		return
	}
	for s.more(']') && each() {
	}
}

// more advances to the next element of the entered object or list.
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

// Str reads a string and returns its raw text without quotes. It skips a value of another type and returns nil. For an
// empty string the result is not nil.
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
		// If an odd number of backslashes precedes the quote, the quote is escaped.
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

// Num reads a number and drops its fraction. If the value is not a number or has more than 15 digits, Num skips the
// value and returns false.
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

// Skip skips one value.
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

// Value skips one value and returns its raw text, or nil if it is incomplete.
func (s *Scanner) Value() []byte {
	s.Peek()
	from := s.i
	if s.Skip(); s.err != nil {
		return nil
	}
	return s.b[from:s.i:s.i]
}

// ends holds the bytes that end a number or a word.
var ends = [256]bool{',': true, '}': true, ']': true, ' ': true, '\t': true, '\n': true, '\r': true, ':': true, '"': true, '{': true, '[': true}

// nests holds the bytes inside a skipped value that affect its nesting.
var nests = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

func (s *Scanner) skipNested() {
	// This is a fast path for long lists of numbers, such as token ids.
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

// End returns an error unless only spaces are left.
func (s *Scanner) End() error {
	if s.err == nil && s.Peek() != 0 {
		s.fail()
	}
	return s.err
}

// At returns the offset of the next byte.
func (s *Scanner) At() int { return s.i }

// Unquote decodes the content of a JSON string, given without quotes.
func Unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &text) != nil { // a server sent invalid escapes
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	return text
}

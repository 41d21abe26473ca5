package chromejson

import (
	"bytes"
	"unicode/utf8"
)

// mode is how far clean may go.
type mode uint8

const (
	strict       mode = iota // mends what the grammar flags
	lenient                  // also guesses which quotes should have been escaped
	lenientAtEnd             // the same, and the file ends where the text does
)

// clean writes the JSON value at the start of src as strict JSON: what has a
// deviation the grammar understands is replaced (NaN and its kin by null, raw
// control characters and unknown escapes by escapes, broken UTF-8 by U+FFFD),
// everything else is copied as it stands. If lenient it also repairs quotes
// that older Kineto left unescaped inside strings. It gives the bytes of src
// used, or more or bad.
func clean(dst, src []byte, m mode) ([]byte, int) {
	c := cleaner{src: src, dst: dst, mode: m}
	n := c.value(0, 0, member)
	return c.dst, n
}

type cleaner struct {
	src, dst []byte
	mode     mode
}

func (c *cleaner) copySpace(i int) int {
	j := space(c.src, i)
	c.dst = append(c.dst, c.src[i:j]...)
	return j
}

func (c *cleaner) value(i, depth int, role role) int {
	if i = c.copySpace(i); i >= len(c.src) {
		return more
	}
	b := c.src
	switch {
	case b[i] == '"':
		return c.str(i, role)
	case b[i] == '{' || b[i] == '[':
		// An event and its args are two levels more than the grammar's own.
		if depth >= maxDepth+2 {
			return bad
		}
		return c.container(i, depth)
	case b[i]-'0' <= 9, b[i] == '-' && i+1 < len(b) && b[i+1]-'0' <= 9:
		end := number(b, i)
		if end > 0 {
			c.dst = append(c.dst, b[i:end]...)
		}
		return end
	}
	end, w := word(b, i)
	if end < 0 {
		return end
	}
	if w >= jsonWords {
		c.dst = append(c.dst, "null"...)
	} else {
		c.dst = append(c.dst, words[w]...)
	}
	return end
}

func (c *cleaner) container(i, depth int) int {
	object := c.src[i] == '{'
	closer, role := byte(']'), element
	if object {
		closer, role = '}', member
	}
	c.dst = append(c.dst, c.src[i])
	i++
	for {
		if i = c.copySpace(i); i >= len(c.src) {
			return more
		}
		if c.src[i] == closer {
			c.dst = append(c.dst, closer)
			return i + 1
		}
		if object {
			if c.src[i] != '"' {
				return bad
			}
			if i = c.str(i, key); i < 0 {
				return i
			}
			if i = c.copySpace(i); i >= len(c.src) {
				return more
			}
			if c.src[i] != ':' {
				return bad
			}
			c.dst = append(c.dst, ':')
			i++
		}
		if i = c.value(i, depth+1, role); i < 0 {
			return i
		}
		if i = c.copySpace(i); i >= len(c.src) {
			return more
		}
		switch c.src[i] {
		case ',':
			j := space(c.src, i+1)
			if j >= len(c.src) {
				return more
			}
			if c.src[j] != closer { // a trailing comma is left out
				c.dst = append(c.dst, ',')
			}
			i++
		case closer:
		default:
			return bad
		}
	}
}

// role is where a string stands, which says what may follow it.
type role uint8

const (
	key role = iota
	member
	element
)

// str copies the string whose opening quote is at i.
func (c *cleaner) str(i int, role role) int {
	b := c.src
	c.dst = append(c.dst, '"')
	i++
	for i < len(b) {
		switch ch := b[i]; {
		case ch == '"':
			if c.mode != strict {
				switch c.closes(i+1, role) {
				case more:
					return more
				case bad:
					c.dst = append(c.dst, '\\', '"')
					i++
					continue
				}
			}
			c.dst = append(c.dst, '"')
			return i + 1
		case ch == '\\':
			if i+1 >= len(b) {
				return more
			}
			if b[i+1] == 'u' && i+6 <= len(b) && hex4(b[i+2:i+6]) {
				c.dst = append(c.dst, b[i:i+6]...)
				i += 6
				continue
			}
			if bytes.IndexByte([]byte(`"\/bfnrt`), b[i+1]) >= 0 {
				c.dst = append(c.dst, b[i], b[i+1])
				i += 2
				continue
			}
			c.dst = append(c.dst, '\\', '\\')
			i++
		case ch < 0x20:
			const hex = "0123456789abcdef"
			c.dst = append(c.dst, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
			i++
		case ch < utf8.RuneSelf:
			c.dst = append(c.dst, ch)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n <= 1 {
				c.dst = append(c.dst, "\ufffd"...)
				i++
				continue
			}
			c.dst = append(c.dst, b[i:i+n]...)
			i += n
		}
	}
	return more
}

// closes tells whether a quote before i ends its string, by what follows: 0
// yes, bad no, more if the text is too short to say. A key ends before a
// colon. A value ends before a comma and the next key or element, or before
// the bracket of its container and what may follow that.
func (c *cleaner) closes(i int, role role) int {
	b := c.src
	i = space(b, i)
	if i == len(b) {
		return more
	}
	if role == key {
		if b[i] == ':' {
			return 0
		}
		return bad
	}
	next := space(b, i+1)
	switch {
	case b[i] == ',':
		if next == len(b) {
			return more
		}
		if role == element {
			return c.beginsValue(next)
		}
		if b[next] == '}' { // a trailing comma
			return 0
		}
		return c.beginsKey(next)
	case b[i] == '}' && role == member, b[i] == ']' && role == element:
		if next == len(b) {
			if c.mode == lenientAtEnd {
				return 0
			}
			return more
		}
		switch b[next] {
		case '}', ']':
			return 0
		case ',':
			if next = space(b, next+1); next == len(b) {
				return more
			}
			return c.beginsValue(next)
		}
	}
	return bad
}

// beginsValue tells in the manner of closes whether a value, or the bracket
// after a trailing comma, may begin at i.
func (c *cleaner) beginsValue(i int) int {
	switch ch := c.src[i]; {
	case ch == '"', ch == '{', ch == '[', ch == '}', ch == ']', ch == '-', ch-'0' <= 9:
		return 0
	}
	if end, _ := word(c.src, i); end < 0 {
		return end
	}
	return 0
}

// beginsKey tells in the manner of closes whether there is `"key":` at i.
func (c *cleaner) beginsKey(i int) int {
	if c.src[i] != '"' {
		return bad
	}
	n := bytes.IndexByte(c.src[i+1:], '"')
	if n < 0 {
		return more
	}
	if i = space(c.src, i+n+2); i == len(c.src) {
		return more
	}
	if c.src[i] != ':' {
		return bad
	}
	return 0
}

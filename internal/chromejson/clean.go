package chromejson

import (
	"bytes"
	"unicode/utf8"
)

// clean writes the JSON value at the start of src as strict JSON: what has a
// deviation the grammar understands is replaced (NaN and its kin by null, raw
// control characters and unknown escapes by escapes, broken UTF-8 by U+FFFD),
// everything else is copied as it stands. With lenient it also repairs quotes
// that older Kineto left unescaped inside strings. It gives the bytes of src
// used, or more or bad.
func clean(dst, src []byte, lenient bool) ([]byte, int) {
	c := cleaner{src: src, dst: dst, lenient: lenient}
	n := c.value(0, 0)
	return c.dst, n
}

type cleaner struct {
	src, dst []byte
	lenient  bool
}

func (c *cleaner) copySpace(i int) int {
	j := space(c.src, i)
	c.dst = append(c.dst, c.src[i:j]...)
	return j
}

func (c *cleaner) value(i, depth int) int {
	if i = c.copySpace(i); i >= len(c.src) {
		return more
	}
	if depth > maxDepth {
		return bad
	}
	b := c.src
	switch {
	case b[i] == '"':
		return c.str(i, false)
	case b[i] == '{' || b[i] == '[':
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
	closer := byte(']')
	if object {
		closer = '}'
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
			if i = c.str(i, true); i < 0 {
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
		if i = c.value(i, depth+1); i < 0 {
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

// str copies the string whose opening quote is at i.
func (c *cleaner) str(i int, isKey bool) int {
	b := c.src
	c.dst = append(c.dst, '"')
	i++
	for i < len(b) {
		switch ch := b[i]; {
		case ch == '"':
			if c.lenient {
				switch ends := closes(b, i, isKey); {
				case ends == more:
					return more
				case ends == bad:
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

// closes tells whether the quote at i ends its string, by what follows: 0 yes,
// bad no, more if the text is too short to say. A key ends before a colon; a
// value ends before a comma and the next element, or before a closing bracket
// that is itself followed by what may follow one.
func closes(b []byte, i int, isKey bool) int {
	j := space(b, i+1)
	if j >= len(b) {
		return more
	}
	switch {
	case isKey:
		if b[j] == ':' {
			return 0
		}
	case b[j] == ',':
		k := space(b, j+1)
		if k >= len(b) {
			return more
		}
		if b[k] != '"' { // an array's next element, or a trailing comma
			if b[k] == '}' || b[k] == ']' || b[k] == '{' || b[k] == '[' || b[k] == '-' || isWordByte(b[k]) {
				return 0
			}
			return bad
		}
		return 0
	case b[j] == '}' || b[j] == ']':
		k := space(b, j+1)
		if k >= len(b) {
			return more
		}
		if b[k] == ',' || b[k] == '}' || b[k] == ']' {
			return 0
		}
	}
	return bad
}

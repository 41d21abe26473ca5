package chromejson

import (
	"bytes"
	"unicode/utf8"
)

// mode controls how much clean repairs.
type mode uint8

const (
	strict       mode = iota // repairs only the deviations known to the grammar
	lenient                  // also guesses which quotes lack an escape
	lenientAtEnd             // lenient, for text that ends at the end of the file
)

// clean writes the JSON value at the start of src as strict JSON. It replaces deviations that the grammar knows (NaN
// and the like by null, raw control characters and unknown escapes by escapes, broken UTF-8 by U+FFFD) and copies
// everything else verbatim. In lenient modes it also repairs quotes that older Kineto left unescaped inside strings.
// clean returns the number of bytes used, or one of the constants more and bad. parent is the container of the value;
// it determines which text may follow the value.
func clean(dst, src []byte, m mode, parent container) ([]byte, int) {
	c := cleaner{src: src, dst: dst, mode: m}
	c.open = append(c.few[:0], parent)
	n := c.value(0)
	return c.dst, n
}

// container is the kind of an open bracket.
type container uint8

const (
	object container = iota
	array
	events // the traceEvents array, whose elements are all objects
)

type cleaner struct {
	src, dst []byte
	mode     mode
	open     []container // innermost last
	few      [8]container
}

func (c *cleaner) copySpace(i int) int {
	j := space(c.src, i)
	c.dst = append(c.dst, c.src[i:j]...)
	return j
}

func (c *cleaner) value(i int) int {
	if i = c.copySpace(i); i >= len(c.src) {
		return more
	}
	b := c.src
	switch {
	case b[i] == '"':
		return c.str(i, false)
	case b[i] == '{' || b[i] == '[':
		// An event and its args add two levels to the maximum depth of the grammar.
		if len(c.open) > maxDepth+2 {
			return bad
		}
		return c.container(i)
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

func (c *cleaner) container(i int) int {
	kind, closer := array, byte(']')
	if c.src[i] == '{' {
		kind, closer = object, '}'
	}
	c.open = append(c.open, kind)
	c.dst = append(c.dst, c.src[i])
	i++
	for {
		if i = c.copySpace(i); i >= len(c.src) {
			return more
		}
		if c.src[i] == closer {
			c.dst = append(c.dst, closer)
			c.open = c.open[:len(c.open)-1]
			return i + 1
		}
		if kind == object {
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
		if i = c.value(i); i < 0 {
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
			if c.src[j] != closer { // drop a trailing comma
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
			if c.mode != strict {
				switch c.closes(i+1, isKey) {
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
			if b[i+1] == 'u' && i+6 <= len(b) && hex(b[i+2:i+6]) {
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
			const digits = "0123456789abcdef"
			c.dst = append(c.dst, '\\', 'u', '0', '0', digits[ch>>4], digits[ch&15])
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

// closes decides from the text at i whether the quote before i ends a string. It returns 0 for yes, bad for no, and
// more if the text is too short to decide. A quote ends a key if a colon follows. A quote ends a value if any number of
// brackets that close open containers follow, then a comma and a valid next key or value.
func (c *cleaner) closes(i int, isKey bool) int {
	b := c.src
	for level := len(c.open) - 1; level >= 0; level-- {
		if i = space(b, i); i == len(b) {
			if c.mode == lenientAtEnd && level < len(c.open)-1 {
				return 0
			}
			return more
		}
		kind := c.open[level]
		switch {
		case isKey:
			if b[i] == ':' {
				return 0
			}
			return bad
		case b[i] == ',':
			if i = space(b, i+1); i == len(b) {
				return more
			}
			switch {
			case kind != object && b[i] == ']', kind == object && b[i] == '}': // a trailing comma
				return 0
			case kind == object:
				return c.beginsKey(i)
			case kind == array:
				return c.beginsValue(i)
			case b[i] == '{':
				return 0
			}
			return bad
		case b[i] == '}' && kind == object, b[i] == ']' && kind != object:
			i++
		default:
			return bad
		}
	}
	return 0
}

// beginsValue decides whether a value may begin at i. Its results are those of closes.
func (c *cleaner) beginsValue(i int) int {
	switch ch := c.src[i]; {
	case ch == '"', ch == '{', ch == '[', ch == '-', ch-'0' <= 9:
		return 0
	}
	if end, _ := word(c.src, i); end < 0 {
		return end
	}
	return 0
}

// beginsKey decides whether `"key":` begins at i. Its results are those of closes.
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

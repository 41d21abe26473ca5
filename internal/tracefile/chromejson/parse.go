package chromejson

import (
	"encoding/binary"
	"math/bits"
)

// Results that the grammar functions return in place of an index.
const (
	more = -1 // the text ends before the element
	bad  = -2 // not JSON, regardless of the text that follows
)

// Deviations from JSON that the grammar knows and clean repairs.
const (
	flagControl   = 1 << iota // raw control characters in a string
	flagEscape                // escapes unknown to JSON, as in unescaped Windows paths
	flagNonFinite             // NaN, Infinity, inf and their negatives
	flagComma                 // a comma before a closing bracket
	flagHigh                  // bytes above 127: check UTF-8
	needsClean    = flagControl | flagEscape | flagNonFinite | flagComma
)

// maxDepth limits the nesting depth: a uint64 holds one bit per level, which distinguishes objects from arrays.
const maxDepth = 64

// grammar reads JSON text in place. Its only state is the flags that it sets.
type grammar struct{ flags uint8 }

const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	slants = ones * '\\'
)

// str returns the index after the closing quote of the string whose opening quote precedes i. It examines eight bytes
// at a time. With bit 1 flipped, exactly the bytes below 0x20 and quotes (0x22) are below 0x21, so the borrow of a
// subtraction finds them. A second subtraction finds backslashes, the zero bytes of x^slants. Only the lowest match is
// used, because a borrow may mark higher bytes wrongly.
func (g *grammar) str(b []byte, i int) int {
	var high uint64
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i : i+8])
			s := x ^ slants
			m := ((x^ones*2-ones*0x21)&^x | (s-ones)&^s) & highs
			if m != 0 {
				n := bits.TrailingZeros64(m)
				high |= x & (1<<n - 1)
				i += n >> 3
				break
			}
			high |= x
			i += 8
		}
		if i >= len(b) {
			return more
		}
		switch c := b[i]; {
		case c == '"':
			if high&highs != 0 {
				g.flags |= flagHigh
			}
			return i + 1
		case c == '\\':
			if i+1 >= len(b) {
				return more
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if !hex(b[i+2 : min(i+6, len(b))]) {
					g.flags |= flagEscape
				} else if i+6 > len(b) {
					return more
				}
				i += 2
			default:
				g.flags |= flagEscape
				i++ // the backslash counts as literal; the next byte is read separately
			}
		case c < 0x20:
			g.flags |= flagControl
			i++
		default: // the tail of the text, fewer than eight bytes
			high |= uint64(c)
			i++
		}
	}
}

func hex(b []byte) bool {
	for _, c := range b {
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

// space skips white space. The result may be len(b).
func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// number reads the JSON number that begins at i.
func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		if i == len(b) {
			return more
		}
		return bad
	}
	if b[start] == '0' && i-start > 1 {
		return bad
	}
	if i < len(b) && b[i] == '.' {
		i++
		start = i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		if i == start && i < len(b) {
			return bad
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		if i == start && i < len(b) {
			return bad
		}
	}
	if i == len(b) { // more digits may follow
		return more
	}
	return i
}

// words are the literals of JSON, followed by the literals that Python and old libkineto write for numbers that JSON
// cannot represent.
var words = [...]string{"true", "false", "null", "NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "-inf"}

const jsonWords = 3 // number of words that are JSON

// word reads a literal at i. w is its index in words.
func word(b []byte, i int) (end, w int) {
	partial := false
	for w := range words {
		s := words[w]
		if n := min(len(s), len(b)-i); string(b[i:i+n]) == s[:n] {
			if i+n == len(b) { // truncated, or more letters may follow
				partial = true
				continue
			}
			if isWordByte(b[i+n]) {
				continue // such as "inf" in "infinity"
			}
			return i + n, w
		}
	}
	if partial {
		return more, 0
	}
	return bad, 0
}

func isWordByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// value reads any JSON value that begins at i and returns the index after it.
func (g *grammar) value(b []byte, i int) int {
	var stack uint64 // bit 0: the innermost open bracket is an object
	depth := 0
	for {
		// A value begins at i.
		if i = space(b, i); i >= len(b) {
			return more
		}
		switch c := b[i]; {
		case c == '"':
			if i = g.str(b, i+1); i < 0 {
				return i
			}
		case c-'0' <= 9, c == '-' && i+1 < len(b) && b[i+1]-'0' <= 9:
			// Most numbers are short integers.
			if end := integer(b, i); end > 0 && b[end] != '.' && b[end]|0x20 != 'e' {
				i = end
			} else if i = number(b, i); i < 0 {
				return i
			}
		case c == '{', c == '[':
			if depth == maxDepth {
				return bad
			}
			depth++
			stack <<= 1
			if i = space(b, i+1); i >= len(b) {
				return more
			}
			if b[i] == c+2 { // empty: c+2 is } or ]
				i++
				depth--
				stack >>= 1
				break
			}
			if c == '{' {
				stack |= 1
				if i = g.key(b, i); i < 0 {
					return i
				}
			}
			continue
		default:
			if c == '-' && i+1 == len(b) {
				return more
			}
			end, w := word(b, i)
			if end < 0 {
				return end
			}
			if w >= jsonWords {
				g.flags |= flagNonFinite
			}
			i = end
		}
		// A value has ended: close the containers that end after it, and find the next value.
	closing:
		for {
			if depth == 0 {
				return i
			}
			if i >= len(b) {
				return more
			}
			c := b[i]
			if c <= ' ' {
				if i = space(b, i); i >= len(b) {
					return more
				}
				c = b[i]
			}
			switch {
			case c == ',':
				if i = space(b, i+1); i >= len(b) {
					return more
				}
				if b[i] == '}' || b[i] == ']' {
					g.flags |= flagComma
					continue
				}
				if stack&1 != 0 {
					if i = g.key(b, i); i < 0 {
						return i
					}
				}
				break closing
			case c == '}' && stack&1 != 0, c == ']' && stack&1 == 0:
				i++
				depth--
				stack >>= 1
			default:
				return bad
			}
		}
	}
}

// key reads `"key" :` at i.
func (g *grammar) key(b []byte, i int) int {
	if b[i] != '"' {
		return bad
	}
	if i = g.str(b, i+1); i < 0 {
		return i
	}
	if i < len(b) && b[i] == ':' {
		return i + 1
	}
	if i = space(b, i); i >= len(b) {
		return more
	}
	if b[i] != ':' {
		return bad
	}
	return i + 1
}

// event parses the object at the start of b into e and returns its length.
func (g *grammar) event(b []byte, e *Event) int {
	g.flags = 0
	e.reset(b)
	end := g.members(b, 0, e, false)
	if end < 0 {
		return end
	}
	e.Raw = b[:end]
	e.flags = g.flags
	return end
}

func (e *Event) reset(b []byte) {
	*e = Event{Raw: b, Off: e.Off, Known: e.Known[:0]}
}

// members reads the object at i, which is an event or the args of an event, and stores the positions of the known keys.
func (g *grammar) members(b []byte, i int, e *Event, inArgs bool) int {
	i = space(b, i+1)
	for {
		if i >= len(b) {
			return more
		}
		if b[i] == '}' {
			return i + 1
		}
		keyAt := i + 1
		if i = g.key(b, i); i < 0 {
			return i
		}
		// keyEnd is the index of the quote before the colon; white space between quote and colon is rare.
		keyEnd := i - 2
		for b[keyEnd] != '"' {
			keyEnd--
		}
		if i = space(b, i); i >= len(b) {
			return more
		}
		at := i
		key := b[keyAt:keyEnd]
		if !inArgs && b[i] == '{' && string(key) == "args" && !e.Args.Present() {
			i = g.members(b, i, e, true)
		} else if b[i] == '"' {
			i = g.str(b, i+1)
		} else {
			i = g.value(b, i)
		}
		if i < 0 {
			return i
		}
		f := Field{uint32(at), uint32(i)}
		if !inArgs {
			e.topKey(key, f)
		} else if k := argKey(key); k != 0 {
			e.Known = append(e.Known, Arg{k, f})
		}
		if i = space(b, i); i >= len(b) {
			return more
		}
		switch b[i] {
		case ',':
			if i = space(b, i+1); i < len(b) && b[i] == '}' {
				g.flags |= flagComma
			}
		case '}':
		default:
			return bad
		}
	}
}

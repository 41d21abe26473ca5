package chromejson

// Functions to walk over well-formed JSON text, such as the events and members of a Scanner.

// SkipSpace returns the index of the first byte at or after i that is not white space, or len(b).
func SkipSpace(b []byte, i int) int { return space(b, i) }

// SkipValue returns the index after the value or key that begins at i.
func SkipValue(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(b))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // end of the enclosing container
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

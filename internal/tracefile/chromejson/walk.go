package chromejson

// What walks over JSON text that is known to be well-formed: events and members
// as the scanner gives them.

// SkipSpace gives the index of what follows white space; it may be len(b).
func SkipSpace(b []byte, i int) int { return space(b, i) }

// SkipValue gives the index after the value, or the key, that begins at i.
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
				return i // what is around the value ends
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

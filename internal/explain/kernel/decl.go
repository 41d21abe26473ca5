package kernel

import (
	"regexp"
	"strings"
)

// decl is a parsed demangled name. For `void ns::f<int>(float*) const`, name is `ns::f<int>`.
type decl struct {
	name string // qualified name with template arguments; the whole text if it is not a C++ declaration
}

// anonymousNS matches anonymous namespaces as written by c++filt, nsys and older nvcc.
var anonymousNS = regexp.MustCompile(`\(anonymous namespace\)::|<unnamed>::|\{anonymous\}::|_GLOBAL__N__\w+::`)

// kdSuffix is the suffix that ROCm adds to the symbol of a kernel descriptor.
var kdSuffix = regexp.MustCompile(`(\s*\[clone [^\]]*\]|\s*\(\.kd\)|\.kd)+$`)

// parseDecl parses a demangled name. It never fails: if it cannot parse s, the name is all of s.
func parseDecl(s string) decl {
	if s = strings.TrimSpace(s); strings.HasSuffix(s, ".kd") || strings.HasSuffix(s, ".kd)") || strings.HasSuffix(s, "]") {
		s = kdSuffix.ReplaceAllString(s, "")
	}
	if strings.HasPrefix(s, "_Z") {
		s = demangle(s)
	}
	if strings.Contains(s, "anonymous") || strings.Contains(s, "<unnamed>") || strings.Contains(s, "_GLOBAL__N") {
		s = anonymousNS.ReplaceAllString(s, "")
	}

	start := 0 // index after the last space outside brackets, which ends the return type
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == 'o' && strings.HasPrefix(s[i:], "operator") && !wordBefore(s, i):
			i = skipOperator(s, i+len("operator"))
		case c == ' ':
			start = i + 1
			i++
		case c == '(':
			if i == start { // "Memcpy DtoH (Device -> Pageable)" is words, not a call
				return decl{name: s}
			}
			return decl{name: s[start:i]}
		case c == '<' || c == '{' || c == '[':
			end := closing(s, i)
			if end < 0 { // the name is truncated, because the profiler limits the length of names
				return decl{name: s[start:]}
			}
			i = end + 1
		default:
			i++
		}
	}
	if start >= len(s) || start > 0 && !strings.ContainsAny(s, "<:") && !strings.HasPrefix(s, "void ") {
		return decl{name: s} // plain words
	}
	return decl{name: s[start:]}
}

// bare returns the qualified name without template arguments.
func (d decl) bare() string {
	s := d.name
	if !strings.Contains(s, "<") || strings.HasPrefix(s, "<") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '<' {
			b.WriteByte(s[i])
			i++
			continue
		}
		end := closing(s, i)
		if end < 0 {
			break
		}
		i = end + 1
	}
	return b.String()
}

func wordBefore(s string, i int) bool { return i > 0 && isWord(s[i-1]) }

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// skipOperator returns the index after the symbol of an operator function, such as operator<<.
func skipOperator(s string, i int) int {
	if strings.HasPrefix(s[i:], "()") {
		return i + 2
	}
	for i < len(s) && strings.IndexByte("<>=!+-*/%&|^~", s[i]) >= 0 {
		i++
	}
	return i
}

// closing returns the index of the bracket that closes the bracket at s[i], or −1. A `>` closes a `<` only if that is
// the innermost open bracket, and if the `>` is not part of an arrow. A `)`, `}` or `]` also closes the brackets that
// are still open inside the pair, so that a `<` meaning "less" does no harm.
func closing(s string, i int) int {
	stack := make([]byte, 0, 32)
	for ; i < len(s); i++ {
		c := s[i]
		opening := byte('(')
		switch c {
		case '(', '<', '{', '[':
			stack = append(stack, c)
			continue
		case '>':
			opening = '<'
		case ')':
		case '}':
			opening = '{'
		case ']':
			opening = '['
		default:
			continue
		}
		if c == '>' {
			if s[i-1] == '-' || stack[len(stack)-1] != '<' {
				continue
			}
			stack = stack[:len(stack)-1]
		} else {
			j := len(stack) - 1
			for j > 0 && stack[j] != opening {
				j--
			}
			if stack[j] != opening {
				return -1
			}
			stack = stack[:j]
		}
		if len(stack) == 0 {
			return i
		}
	}
	return -1
}

// demangle returns the qualified name that a mangled name contains, such as aiter::fmha_fwd for _ZN5aiter8fmha_fwdE. It
// drops template arguments and parameters. The profilers demangle nearly all names, except those of ROCm kernels
// written in assembly. (Itanium C++ ABI, section 5.1.2.)
func demangle(s string) string {
	rest := strings.TrimPrefix(s, "_Z")
	nested := strings.HasPrefix(rest, "N")
	rest = strings.TrimPrefix(rest, "N")
	var parts []string
	for rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		n, i := 0, 0
		for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' && n < len(rest) {
			n = n*10 + int(rest[i]-'0')
			i++
		}
		if n == 0 || i+n > len(rest) {
			return s
		}
		if id := rest[i : i+n]; !strings.HasPrefix(id, "_GLOBAL__N") {
			parts = append(parts, id)
		}
		rest = rest[i+n:]
		if !nested {
			break
		}
	}
	if len(parts) == 0 {
		return s
	}
	return strings.Join(parts, "::")
}

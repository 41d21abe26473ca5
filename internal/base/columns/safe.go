package columns

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// moves reports whether r could disrupt a terminal: move the cursor, change the terminal's state, end a line or change
// the reading direction of the line.
func moves(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029
}

// Clean makes text from a file safe to show in one line by removing runes that could disrupt the terminal.
func Clean(s string) string {
	blank := func(r rune) rune {
		if moves(r) {
			return ' '
		}
		return r
	}
	return strings.TrimSpace(strings.Map(blank, strings.ToValidUTF8(s, "\uFFFD")))
}

// Lines makes multi-line text safe to show. It indents all lines but the first, so that a line end within a name cannot
// start a line that looks like a message.
func Lines(s string) string {
	return strings.ReplaceAll(string(safe(nil, []byte(s), false)), "\n", "\n  ")
}

// JSON escapes the runes of a JSON text that could disrupt a terminal. Line ends and tabs stay unchanged. They are the
// only such runes that JSON allows outside strings. Within strings, Go's encoder escapes them.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if moves(r) && r != '\n' && r != '\t' {
			out = fmt.Appendf(out, `\u%04x`, r) // none of these runes is above U+FFFF
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// Cell escapes text for a CSV file. Spreadsheets interpret text that begins with =, +, -, @, a tab or a carriage return
// as a formula, so Cell puts an apostrophe before such text. Numbers stay unchanged.
func Cell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) || number(s[1:]) && (s[0] == '-' || s[0] == '+') {
		return s
	}
	return "'" + s
}

// number reports whether s consists of digits, with an optional decimal point.
func number(s string) bool {
	whole, part, _ := strings.Cut(s, ".")
	return whole != "" && strings.Trim(whole+part, "0123456789") == ""
}

// Safe writes text for people. It replaces runes that could disrupt the terminal, because names from a file may contain
// such runes. It is safe for concurrent use.
type Safe struct {
	W io.Writer

	mu      sync.Mutex
	colours bool
	rest    []byte // incomplete rune at the end of the last Write
}

// Colours makes Safe pass colour sequences through unchanged.
func (s *Safe) Colours() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.colours = true
}

// Write writes p. If p ends within a rune, the incomplete rune is kept for the next call.
func (s *Safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := append(s.rest, p...)
	cut := len(b)
	for i := max(0, cut-utf8.UTFMax); i < cut; i++ {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			cut = i
		}
	}
	out := safe(make([]byte, 0, cut), b[:cut], s.colours)
	s.rest = bytes.Clone(b[cut:])
	if _, err := s.W.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// safe appends b to out without the runes that could disrupt a terminal. Line ends and tabs stay, and a carriage return
// becomes a line end.
func safe(out, b []byte, colours bool) []byte {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == '\n', r == '\t', !moves(r) && (r != utf8.RuneError || n > 1):
			out = append(out, b[i:i+n]...)
		case r == '\r':
			if i+1 == len(b) || b[i+1] != '\n' {
				out = append(out, '\n')
			}
		case r == 0x1b && colours && colour(b[i:]) > 0:
			n = colour(b[i:])
			out = append(out, b[i:i+n]...)
		case r == utf8.RuneError:
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, ' ')
		}
		i += n
	}
	return out
}

// colour returns the length of the colour sequence at the start of b, or 0.
func colour(b []byte) int {
	for i, c := range b {
		switch {
		case i < 2 && c == "\x1b["[i], i >= 2 && (c == ';' || '0' <= c && c <= '9'):
		case i >= 2 && c == 'm':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// ShellWord quotes word for a shell if necessary.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

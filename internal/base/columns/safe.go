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

// moves tells what no text may do to a terminal: move its cursor, change what it is, end a line, or turn the direction
// in which the rest of the line is read.
func moves(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029
}

// Clean makes a text that comes from a file safe to show in one line: without
// what would move the cursor.
func Clean(s string) string {
	blank := func(r rune) rune {
		if moves(r) {
			return ' '
		}
		return r
	}
	return strings.TrimSpace(strings.Map(blank, strings.ToValidUTF8(s, "\uFFFD")))
}

// Lines makes a text safe to show as it stands, in its lines, of which those after the first are set in: a line end in
// a name does not begin a message of its own.
func Lines(s string) string {
	return strings.ReplaceAll(string(safe(nil, []byte(s), false)), "\n", "\n  ")
}

// JSON escapes in a text of JSON what would move the cursor or turn the text around. Outside of strings JSON has no such
// runes but line ends and tabs, and in strings Go's encoder escapes these.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if moves(r) && r != '\n' && r != '\t' {
			out = fmt.Appendf(out, `\u%04x`, r) // none is beyond U+FFFF
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// Cell is a text in a file of comma-separated values. Spreadsheets take one that begins with = + - @, a tab or a
// carriage return for a formula; an apostrophe before it says that it is text. Numbers stay as they are.
func Cell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) || number(s[1:]) && (s[0] == '-' || s[0] == '+') {
		return s
	}
	return "'" + s
}

// number tells digits, with a point among them perhaps.
func number(s string) bool {
	whole, part, _ := strings.Cut(s, ".")
	return whole != "" && strings.Trim(whole+part, "0123456789") == ""
}

// Safe is a writer of text for people, as it stands but for what would move the cursor of a terminal: a name out of a
// file may hold it. It may be written to by many goroutines.
type Safe struct {
	W io.Writer

	mu      sync.Mutex
	colours bool
	rest    []byte // the beginning of a rune whose other bytes come with the next Write
}

// Colours lets the sequences pass that colour text.
func (s *Safe) Colours() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.colours = true
}

// Write writes p. A rune that p ends within waits for the next call.
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

// safe appends b without what moves the cursor. Line ends and tabs stay; a carriage return becomes a line end.
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

// colour gives the length of the sequence at the start of b if it is one that colours text, and else 0.
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

// ShellWord is a word as a shell takes it.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

package columns

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Width returns the number of terminal columns that s occupies. Colours (ANSI codes) occupy none, nor do marks and
// characters that join others.
func Width(s string) int {
	n := 0
	for len(s) > 0 {
		r, size := next(s)
		n += r
		s = s[size:]
	}
	return n
}

// next returns the columns and bytes of the first character, or ANSI code, of a text that is not empty.
func next(s string) (columns, bytes int) {
	if c := s[0]; c >= ' ' && c < 0x7f {
		return 1, 1
	}
	if strings.HasPrefix(s, "\x1b[") {
		if end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' }); end >= 0 {
			return 0, 2 + end + 1
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cc, unicode.Cf):
		return 0, size
	case width.LookupRune(r).Kind() == width.EastAsianWide, width.LookupRune(r).Kind() == width.EastAsianFullwidth:
		return 2, size
	}
	return 1, size
}

// Wrap breaks a text into lines of at most width columns. It breaks between words, and within a word only if the word
// is wider than a line. Line breaks of a text that fits remain; in others, they count as blanks. Empty text yields no
// lines.
func Wrap(s string, width int) []string {
	if s == "" {
		return nil
	}
	width = max(width, 1)
	if s = strings.ReplaceAll(s, "\t", "    "); Width(s) <= width {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return lines
	}
	var lines []string
	line, at := "", 0
	for _, word := range strings.Fields(s) {
		wide := Width(word)
		if line != "" && at+1+wide <= width {
			line, at = line+" "+word, at+1+wide
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for wide > width {
			cut, columns := 0, 0
			for cut < len(word) {
				n, size := next(word[cut:])
				if cut > 0 && columns+n > width {
					break
				}
				cut, columns = cut+size, columns+n
			}
			lines, word, wide = append(lines, word[:cut]), word[cut:], wide-columns
		}
		line, at = word, wide
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Ends returns a line of the given width with left at its left end and right at its right end.
func Ends(left, right string, width int) string {
	left = Short(left, max(width-Width(right)-2, 0))
	return Short(left+strings.Repeat(" ", max(width-Width(left)-Width(right), 2))+right, width)
}

// Short truncates a text to width columns.
func Short(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	r := []rune(text)
	most := width // runes that may fit; more only if some have no width
	for most < len(r) && Width(string(r[:most])) < width {
		most *= 2
	}
	r = r[:min(most, len(r))]
	fit := sort.Search(len(r), func(n int) bool { return Width(string(r[:n+1])) >= width })
	return string(r[:fit]) + "…"
}

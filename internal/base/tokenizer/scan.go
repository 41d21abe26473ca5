package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Patterns with hand-written scanners, recognised by their text. In each pattern, some alternative matches at every
// position, so the matches cover the text without gaps.
const (
	patternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen2  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// scanners are the hand-written equivalents of the patterns.
var scanners = map[string]scanner{
	patternLlama3: func(s string, i int) int { return scanCL100K(s, i, 3) },
	patternQwen2:  func(s string, i int) int { return scanCL100K(s, i, 1) },
	patternGPT2:   scanGPT2,
}

// scanner returns the end of the word that begins at s[i], i < len(s).
type scanner func(s string, i int) int

func (next scanner) cut(words []string, s string) []string {
	for i := 0; i < len(s); {
		j := next(s, i)
		words = append(words, s[i:j])
		i = j
	}
	return words
}

// class is the class of a character in the patterns.
type class uint8

const (
	other   class = iota // [^\s\p{L}\p{N}], and invalid bytes
	letter               // \p{L}
	number               // \p{N}
	space                // \s except
	newline              // [\r\n]
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range t {
		t[r] = classOf(rune(r))
	}
	return t
}()

func classOf(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsLetter(r) || unicode.Is(newLetters, r):
		return letter
	case unicode.IsNumber(r) || unicode.Is(newNumbers, r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// at returns the class and length of the character at s[i], i < len(s).
func at(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return asciiClass[b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return classOf(r), n
}

// run returns the end of the run of characters of class c that starts at s[i].
func run(s string, i int, c class) int {
	for i < len(s) {
		k, n := at(s, i)
		if k != c {
			break
		}
		i += n
	}
	return i
}

// scanCL100K implements the pattern of Llama 3 and Qwen 2, which derives from OpenAI's cl100k_base. digits is the
// maximum number of numeric characters in one word.
func scanCL100K(s string, i, digits int) int {
	c, n := at(s, i)
	if s[i] == '\'' {
		if m := contraction(s[i+1:], true); m > 0 {
			return i + 1 + m
		}
	}
	next, after := newline, i+n // class of the second character, by default newline, which matches no rule
	if after < len(s) {
		next, _ = at(s, after)
	}
	switch {
	case c == letter:
		return run(s, after, letter)
	case c == number:
		for k := 1; k < digits && after < len(s); k++ {
			c, n := at(s, after)
			if c != number {
				break
			}
			after += n
		}
		return after
	case c != newline && next == letter:
		return run(s, after, letter)
	case c == other || s[i] == ' ' && next == other:
		return run(s, run(s, after, other), newline)
	}
	return scanSpace(s, i, true)
}

func scanGPT2(s string, i int) int {
	if s[i] == '\'' {
		if m := contraction(s[i+1:], false); m > 0 {
			return i + 1 + m
		}
	}
	c, n := at(s, i)
	if s[i] == ' ' && i+1 < len(s) {
		if next, n := at(s, i+1); next != space && next != newline {
			return run(s, i+1+n, next)
		}
	}
	if c != space && c != newline {
		return run(s, i+n, c)
	}
	return scanSpace(s, i, false)
}

// scanSpace implements \s*[\r\n]+|\s+(?!\S)|\s+, without the first alternative unless lines is set. i is the start of a
// run of white space. If lines is set and the run contains line ends, the match ends after the last line end. Otherwise
// the match ends before the last character of the run, which is left for the next word. At the end of the text, or if
// the run is a single character, the match is the whole run.
func scanSpace(s string, i int, lines bool) int {
	end, lineEnd, last := i, 0, i
	for end < len(s) {
		c, n := at(s, end)
		if c != space && c != newline {
			break
		}
		last = end
		end += n
		if c == newline {
			lineEnd = end
		}
	}
	switch {
	case lines && lineEnd > 0:
		return lineEnd
	case end < len(s) && last > i:
		return last
	}
	return end
}

// contraction returns the length of the letters after the apostrophe if they form 's, 't, 're, 've, 'm, 'll or 'd.
// Otherwise it returns 0. If fold is set, case is ignored, and the long ſ (U+017F), which folds to s, is accepted too.
func contraction(s string, fold bool) int {
	if s == "" {
		return 0
	}
	if fold && strings.HasPrefix(s, "ſ") {
		return len("ſ")
	}
	lower := func(i int) byte {
		if i >= len(s) {
			return 0
		}
		if b := s[i]; fold && 'A' <= b && b <= 'Z' {
			return b + 'a' - 'A'
		}
		return s[i]
	}
	switch a, b := lower(0), lower(1); {
	case a == 's' || a == 't' || a == 'm' || a == 'd':
		return 1
	case a == 'r' && b == 'e' || a == 'v' && b == 'e' || a == 'l' && b == 'l':
		return 2
	}
	return 0
}

// Go's unicode package follows Unicode 15.0, and the reference's Oniguruma follows Unicode 16.0. These are the letters
// and numbers that were added between the two versions; \s did not change.
var (
	newLetters = &unicode.RangeTable{
		R16: []unicode.Range16{{0x1C89, 0x1C8A, 1}, {0xA7CB, 0xA7CD, 1}, {0xA7DA, 0xA7DC, 1}},
		R32: []unicode.Range32{
			{0x105C0, 0x105F3, 1}, {0x10D4A, 0x10D65, 1}, {0x10D6F, 0x10D85, 1}, {0x10EC2, 0x10EC4, 1},
			{0x11380, 0x11389, 1}, {0x1138B, 0x1138B, 1}, {0x1138E, 0x1138E, 1}, {0x11390, 0x113B5, 1},
			{0x113B7, 0x113B7, 1}, {0x113D1, 0x113D1, 1}, {0x113D3, 0x113D3, 1}, {0x11BC0, 0x11BE0, 1},
			{0x13460, 0x143FA, 1}, {0x16100, 0x1611D, 1}, {0x16D40, 0x16D6C, 1}, {0x18CFF, 0x18CFF, 1},
			{0x1E5D0, 0x1E5ED, 1}, {0x1E5F0, 0x1E5F0, 1}, {0x2EBF0, 0x2EE5D, 1},
		},
	}
	newNumbers = &unicode.RangeTable{
		R32: []unicode.Range32{
			{0x10D40, 0x10D49, 1}, {0x116D0, 0x116E3, 1}, {0x11BF0, 0x11BF9, 1}, {0x16130, 0x16139, 1},
			{0x16D70, 0x16D79, 1}, {0x1CCF0, 0x1CCF9, 1}, {0x1E5F1, 0x1E5FA, 1},
		},
	}
)

package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalForms maps the type of a normaliser in the file to its function.
var normalForms = map[string]func(string) string{
	"NFC":  func(s string) string { return normalise(norm.NFC, norm.NFD, s) },
	"NFD":  func(s string) string { return normalise(norm.NFD, norm.NFD, s) },
	"NFKC": func(s string) string { return normalise(norm.NFKC, norm.NFKD, s) },
	"NFKD": func(s string) string { return normalise(norm.NFKD, norm.NFKD, s) },
}

// normalise converts s to the normal form form. apart is the decomposition that belongs to form. normalise takes a slow
// path for the rare texts on which x/text deviates from the standard.
func normalise(form, apart norm.Form, s string) string {
	if i := form.QuickSpanString(s); i == len(s) {
		return s
	}
	if !departs(s) {
		return form.String(s)
	}
	return normaliseByRune(form, apart, s)
}

// normaliseByRune decomposes s rune by rune, so that x/text never gets many marks at once. Invalid bytes are kept; they
// end a sequence of marks.
func normaliseByRune(form, apart norm.Form, s string) string {
	var out []byte
	var runes []rune
	flush := func() {
		order(runes)
		if form != apart {
			runes = compose(runes)
		}
		out = append(out, string(runes)...)
		runes = runes[:0]
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			flush()
			out = append(out, s[i])
		} else {
			runes = append(runes, []rune(apart.String(s[i:i+n]))...)
		}
		i += n
	}
	flush()
	return string(out)
}

// departs reports whether x/text may normalise s differently from the standard:
//
//   - x/text follows the stream-safe format, which inserts U+034F into a run of more than 30 combining marks. departs
//     assumes that one character decomposes into at most three marks.
//   - x/text looks up a pair by the low 16 bits of each character. So it composes U+2004B and a cedilla (U+0327) to Ķ,
//     as if the first character were K (U+004B).
//   - x/text composes across characters that are not marks but may combine with the previous character, such as Indic
//     vowel signs and the compatibility letters of Hangul.
//   - x/text leaves some characters after an invalid byte unchanged.
func departs(s string) bool {
	marks, beyond := 0, false // number of consecutive marks; whether one of these marks or their base is above U+FFFF
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			marks, beyond = 0, false
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return true
		}
		p := norm.NFC.PropertiesString(s[i:])
		if p.LeadCCC() == 0 && !p.BoundaryBefore() || r >= 0x3131 && r <= 0x3163 || r >= 0xFF9E && r <= 0xFFDC {
			return true
		}
		if starts := p.BoundaryBefore(); starts && p.TrailCCC() == 0 {
			marks, beyond = 0, r > 0xFFFF
		} else {
			beyond = beyond && !starts || r > 0xFFFF
			if marks++; marks >= 10 || beyond {
				return true
			}
		}
		i += n
	}
	return false
}

func combining(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }

// order applies the canonical ordering of Unicode 3.11, D109.
func order(runes []rune) {
	for i := 0; i < len(runes); i++ {
		j := i
		for j < len(runes) && combining(runes[j]) != 0 {
			j++
		}
		slices.SortStableFunc(runes[i:j], func(a, b rune) int { return int(combining(a)) - int(combining(b)) })
		i = max(i, j-1)
	}
}

// compose applies the canonical composition of Unicode 3.11, D117.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter, lastCCC := -1, 0 // starter's index in out; class of the character before r
	for _, r := range runes {
		ccc := int(combining(r))
		if starter >= 0 && (lastCCC == 0 || lastCCC < ccc) {
			pair := string([]rune{out[starter], r})
			c := norm.NFC.String(pair)
			if utf8.RuneCountInString(c) == 1 && norm.NFD.String(c) == norm.NFD.String(pair) {
				out[starter], _ = utf8.DecodeRuneInString(c)
				continue
			}
		}
		if ccc == 0 {
			starter = len(out)
		}
		lastCCC = ccc
		out = append(out, r)
	}
	return out
}

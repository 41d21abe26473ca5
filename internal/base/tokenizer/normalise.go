package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalForms maps the type in the file to its normaliser.
var normalForms = map[string]func(string) string{
	"NFC":  func(s string) string { return normalise(norm.NFC, norm.NFD, s) },
	"NFD":  func(s string) string { return normalise(norm.NFD, norm.NFD, s) },
	"NFKC": func(s string) string { return normalise(norm.NFKC, norm.NFKD, s) },
	"NFKD": func(s string) string { return normalise(norm.NFKD, norm.NFKD, s) },
}

// normalise converts s to a normal form; apart is the form's decomposition. It takes the slow path where x/text
// deviates from the standard, which is rare.
func normalise(form, apart norm.Form, s string) string {
	if i := form.QuickSpanString(s); i == len(s) {
		return s
	}
	if !departs(s) {
		return form.String(s)
	}
	return normaliseByRune(form, apart, s)
}

// normaliseByRune decomposes s rune by rune, so x/text never sees many marks at a time. Invalid bytes are kept and end
// a sequence.
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
//   - It keeps to the stream-safe format, which breaks a run of more than 30 combining marks by a U+034F. One character
//     becomes at most three marks.
//   - It looks up pairs by the low 16 bits of each, so U+2004B and a cedilla (U+0327) make the Ķ of U+004B.
//   - It composes across characters that are not marks but may join the previous one, such as Indic vowel signs and the
//     compatibility letters of Hangul.
//   - After an invalid byte it leaves some characters unchanged.
func departs(s string) bool {
	marks, beyond := 0, false // consecutive marks; whether one of them or their base is above U+FFFF
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
	starter, lastCCC := -1, 0 // the starter's index in out; the combining class before r, 0 for the starter itself
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

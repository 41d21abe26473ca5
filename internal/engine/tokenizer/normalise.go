package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalForms are the normalisers by their type in the file.
var normalForms = map[string]func(string) string{
	"NFC":  func(s string) string { return normalise(norm.NFC, norm.NFD, s) },
	"NFD":  func(s string) string { return normalise(norm.NFD, norm.NFD, s) },
	"NFKC": func(s string) string { return normalise(norm.NFKC, norm.NFKD, s) },
	"NFKD": func(s string) string { return normalise(norm.NFKD, norm.NFKD, s) },
}

// normalise brings s into a form; apart is the form's decomposition.
//
// x/text keeps to the stream-safe format: it breaks a run of more than 30
// combining marks by a U+034F, which the reference does not. Such runs take the
// long way.
func normalise(form, apart norm.Form, s string) string {
	if i := form.QuickSpanString(s); i == len(s) {
		return s
	}
	if longestMarks(s) < 20 { // a single character becomes four marks at most
		return form.String(s)
	}
	// Each rune by itself has few marks. Bytes that are no UTF-8 begin anew.
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

// longestMarks counts the longest run of characters but starters.
func longestMarks(s string) int {
	longest, run := 0, 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			run = 0
			i++
			continue
		}
		if p := norm.NFD.PropertiesString(s[i:]); p.LeadCCC() == 0 && p.TrailCCC() == 0 {
			run = 0
		} else {
			run++
			longest = max(longest, run)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return longest
}

func combining(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }

// order is the canonical ordering of Unicode 3.11, D109.
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

// compose is the canonical composition of Unicode 3.11, D117.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter, lastCCC := -1, 0 // the starter's index in out; the class before r, 0 right behind the starter
	for _, r := range runes {
		ccc := int(combining(r))
		if starter >= 0 && (lastCCC < ccc || lastCCC == 0 && starter == len(out)-1) {
			pair := string([]rune{out[starter], r})
			if c := norm.NFC.String(pair); utf8.RuneCountInString(c) == 1 {
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

package tokenizer

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// FuzzNormalise compares the slow path with x/text where that follows the standard.
func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"e\u0301\u0323", "\u1100\u1161\u11a8", "\uac00\u11a8", "q\u0307\u0323\xff\u0301", "\u212bﬁ\u0344", "\u09c7\u09be", "\u0301a", "a\u0315\u0300\u05ae\u0062"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if departs(s) {
			return
		}
		for form, apart := range map[norm.Form]norm.Form{norm.NFC: norm.NFD, norm.NFD: norm.NFD, norm.NFKC: norm.NFKD, norm.NFKD: norm.NFKD} {
			if got, want := normaliseByRune(form, apart, s), form.String(s); got != want {
				t.Errorf("form %d of %+q: got %+q, want %+q", form, s, got, want)
			}
		}
	})
}

// TestDepartures: texts that x/text alone gets wrong.
func TestDepartures(t *testing.T) {
	nfc := normalForms["NFC"]
	for in, want := range map[string]string{
		"a" + strings.Repeat("\u0323", 40) + "\u0302": "\u1ead" + strings.Repeat("\u0323", 39),
		"\U0002004b\u0327":                            "\U0002004b\u0327",
		"\U00011099\U000110ba":                        "\U0001109a",
		strings.Repeat("\u0344", 20):                  strings.Repeat("\u0308\u0301", 20),
	} {
		if got := nfc(in); got != want {
			t.Errorf("NFC of %+q: got %+q, want %+q", in, got, want)
		}
	}
	if got, want := normalForms["NFD"]("\u0fac\xff\u0227"), "\u0fab\u0fb7\xffa\u0307"; got != want {
		t.Errorf("NFD: got %+q, want %+q", got, want)
	}
}

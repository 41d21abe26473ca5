package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/dlclark/regexp2"
)

// FuzzScanners compares the scanners with the patterns they implement. The regexp engine does not fold ſ and knows only
// Unicode 15, so both are excluded; the reference's expectations cover them.
func FuzzScanners(f *testing.F) {
	for _, s := range []string{
		"", "it's we'LL 'x 've", " a  b\n\n c \r\n", "123456 ١٢٣٤", "!?\n\n x", "\xff\xc3a \xe2\x80", "\u3000\u00a0x", " '\n", "a\u0301 中文", "\t\ta",
	} {
		f.Add(s)
	}
	engines := map[string]split{}
	for pattern := range scanners {
		engines[pattern] = split{re: regexp2.MustCompile(pattern, regexp2.None), how: "Isolated"}
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.Map(func(r rune) rune {
			if r == 'ſ' || unicode.Is(newLetters, r) || unicode.Is(newNumbers, r) {
				return -1
			}
			return r
		}, s)
		for pattern, scan := range scanners {
			got, want := scan.cut(nil, s), engines[pattern].cut(nil, s)
			if !slices.Equal(got, want) {
				t.Errorf("%q by %s\n got %q\nwant %q", s, pattern, got, want)
			}
		}
	})
}

// TestScannersOfBytes does the same for bytes that are not UTF-8, which strings.Map would repair.
func TestScannersOfBytes(t *testing.T) {
	engine := split{re: regexp2.MustCompile(patternLlama3, regexp2.None), how: "Isolated"}
	for _, s := range []string{"\xff", "a\xffb", " \xc3 \xe2\x80x", "12\xf0\x9f\n\xff\r\n", "\xffabc\xed\xa0\x80"} {
		if got, want := scanners[patternLlama3].cut(nil, s), engine.cut(nil, s); !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", s, got, want)
		}
	}
}

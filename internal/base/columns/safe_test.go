package columns

import (
	"fmt"
	"strings"
	"testing"
)

// TestSafe: plain text passes unchanged; characters that would move the cursor become blanks, wherever the text is
// split.
func TestSafe(t *testing.T) {
	for _, c := range []struct{ text, plain, coloured string }{
		{"Grüße\tand\nlines 世界 👩‍🚀", "Grüße\tand\nlines 世界 👩‍🚀", "Grüße\tand\nlines 世界 👩‍🚀"},
		{"\x1b[1;31mred\x1b[0m", " [1;31mred [0m", "\x1b[1;31mred\x1b[0m"},
		{"\x1b[2J\x1b]0;title\a", " [2J ]0;title ", " [2J ]0;title "},
		{"a\u202eb\u2066c\u200f\u061c\u0085\u2028\x7f", "a b c     ", "a b c     "},
		{"a\r\nb\rc", "a\nb\nc", "a\nb\nc"},
		{"\xc3(\xff", "\uFFFD(\uFFFD", "\uFFFD(\uFFFD"},
	} {
		for _, colours := range []bool{false, true} {
			want := c.plain
			if colours {
				want = c.coloured
			}
			var out strings.Builder
			s := &Safe{W: &out}
			if colours {
				s.Colours()
			}
			if n, err := fmt.Fprint(s, c.text); n != len(c.text) || err != nil || out.String() != want {
				t.Errorf("%q, colours %t: %q, %d, %v, want %q", c.text, colours, out.String(), n, err, want)
			}
		}
		if strings.ContainsRune(c.text, 0x1b) || strings.ContainsRune(c.text, '\r') {
			continue
		}
		var out strings.Builder
		s := &Safe{W: &out}
		for i := range len(c.text) {
			fmt.Fprint(s, c.text[i:i+1])
		}
		if out.String() != c.plain {
			t.Errorf("%q in pieces: %q", c.text, out.String())
		}
	}
	text := "{\n\t\"a\u202eb\": \"\u0085\x7fGrüße 世界 👩‍🚀\u2066\"\n}\n"
	if got := string(JSON([]byte(text))); got != "{\n\t\"a\\u202eb\": \"\\u0085\\u007fGrüße 世界 👩‍🚀\\u2066\"\n}\n" {
		t.Errorf("%q", got)
	}
	if got := Lines("open a\nstepscope: b\u202e: none"); got != "open a\n  stepscope: b : none" {
		t.Errorf("%q", got)
	}
}

// TestCell: no text becomes a formula in a spreadsheet, and numbers stay numbers.
func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "void f<-1>()": "void f<-1>()", "a=b": "a=b", "-1": "-1", "+2.50": "+2.50", "-": "'-", "--1": "'--1", "-1+cmd": "'-1+cmd",
		"=HYPERLINK(\"x\")": "'=HYPERLINK(\"x\")", "@SUM(A1)": "'@SUM(A1)", "+A1": "'+A1", "\t=1": "'\t=1", "\r=1": "'\r=1", "'=1": "'=1",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

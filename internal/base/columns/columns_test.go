package columns

import (
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	rows := [][]string{{"n", "name", "more"}, {"10 000", "Grüße", ""}, {"7", "a\tb\x1b[0m", "x"}}
	var left, right strings.Builder
	if Left(&left, rows) != nil || Right(&right, rows) != nil {
		t.Fatal("error")
	}
	if want := "n       name     more\n10 000  Grüße\n7       a b [0m  x\n"; left.String() != want {
		t.Errorf("left:\n%s", left.String())
	}
	if want := "       n     name  more\n  10 000    Grüße\n       7  a b [0m  x\n"; right.String() != want {
		t.Errorf("right:\n%s", right.String())
	}
}

func TestTable(t *testing.T) {
	cols := []Column{{Name: "kernel", Wrap: 6}, {Name: "share", Align: AlignRight}}
	rows := [][]string{{"long name", "1"}, {"b", "20"}}
	for style, want := range map[Style]string{
		Ruled:    "kernel  share\n───────────────\nlong        1\nname\nb          20",
		ASCII:    "kernel  share\n---------------\nlong        1\nname\nb          20",
		Boxed:    "+--------+-------+\n| kernel | share |\n+--------+-------+\n| long   |     1 |\n| name   |       |\n| b      |    20 |\n+--------+-------+",
		Markdown: "| kernel | share |\n| --- | ---:|\n| long name | 1 |\n| b | 20 |",
	} {
		if got := strings.Join(Table(style, cols, rows), "\n"); got != want {
			t.Errorf("style %d:\n%s\nwant\n%s", style, got, want)
		}
	}
	if got := Table(Ruled, All(AlignLeft, "", ""), rows[1:]); len(got) != 1 || got[0] != "b  20" {
		t.Errorf("without a header: %q", got)
	}
}

func TestWrap(t *testing.T) {
	if got := strings.Join(Wrap("one two three", 7), "|"); got != "one two|three" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"as\nit ":                              "as|it",
		"世界 世界 ab":                             "世界|世界|ab",
		"unbreakable word":                     "unbrea|kable|word",
		"e\u0301e\u0301 \x1b[1mbold\x1b[0m ab": "e\u0301e\u0301|\x1b[1mbold\x1b[0m|ab",
	} {
		if got := strings.Join(Wrap(text, 6), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Wrap("世 a", 1); len(got) != 2 {
		t.Errorf("no room: %q", got)
	}
	if Wrap("", 7) != nil || Width("\x1b[1mab\x1b[0m") != 2 {
		t.Error("no text, or colour")
	}
}

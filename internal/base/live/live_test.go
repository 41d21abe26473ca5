package live

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDraw(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Spark(nil), ""},
		{Spark([]float64{0, 1, 2, 4, 8}), " ▂▃▅█"},
		{Spark([]float64{0, 0}), "  "},
		{Bar(0, 4), "░░░░"},
		{Bar(0.5, 4), "██░░"},
		{Bar(0.99, 4), "███░"}, // full only when done
		{Bar(1.5, 4), "████"},
		{Bar(-1, 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestView: frames fit the terminal, replace the frame before, stay below printed lines, are not drawn while another
// program has the terminal, and are removed at the end.
func TestView(t *testing.T) {
	var out strings.Builder
	wide, high, many, away := 0, 0, 2, false
	v := &View{
		out: &out, quit: make(chan struct{}),
		size: func() (int, int) { return wide, high },
		away: func() bool { return away },
		frame: func(columns, _ int) []string {
			return slices.Repeat([]string{strings.Repeat("x", columns)}, many)
		},
	}
	writes := func(what string, do func(), want string) {
		t.Helper()
		out.Reset()
		if do(); out.String() != want {
			t.Errorf("%s: %q, want %q", what, out.String(), want)
		}
	}
	writes("size unknown", v.draw, "")
	wide, high = 5, 4
	writes("first frame", v.draw, "xxxx\r\nxxxx\r\n")
	writes("line", func() { v.Line("a") }, "\r\x1b[2A\x1b[Ja\r\nxxxx\r\nxxxx\r\n")
	many = 9
	writes("higher frame than the terminal", v.draw, "\r\x1b[2A\x1b[Jxxxx\r\nxxxx\r\nxxxx\r\n")
	wide, high = 3, 2
	writes("narrower terminal", v.draw, "\r\x1b[6A\x1b[Jxx\r\n")
	away = true
	writes("other program", v.draw, "")
	writes("line of another program's time", func() { v.Line("a") }, "a\r\n")
	away = false
	v.frame = func(int, int) []string { return []string{"a\nlong\tline"} }
	wide, high = 8, 4
	writes("long line", v.draw, "a long…\r\n")
	v.at = v.at.Add(-time.Hour)
	writes("after a stop", v.draw, "a long…\r\n")
	writes("end", v.Stop, "\r\x1b[1A\x1b[J")
	writes("second end", v.Stop, "")
	writes("line after the end", func() { v.Line("b") }, "b\r\n")
}

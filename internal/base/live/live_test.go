package live

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
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

// TestView: frames fit the terminal, end with the cursor's line, are not drawn while another program has the terminal,
// and are removed at the end.
func TestView(t *testing.T) {
	away, many := false, 2
	m := &model{away: func() bool { return away }, frame: func(columns, rows int) []string {
		return slices.Repeat([]string{strings.Repeat("x", columns)}, many)
	}}
	shows := func(msg tea.Msg, content string) {
		t.Helper()
		m.Update(msg)
		if v := m.View(); v.Content != content || v.Cursor == nil || v.Cursor.X != 0 || v.Cursor.Y != strings.Count(content, "\n") {
			t.Errorf("%T: got %q with the cursor at %v, want %q", msg, v.Content, v.Cursor, content)
		}
	}
	shows(drawMsg{}, "") // its size is still unknown
	size := tea.WindowSizeMsg{Width: 5, Height: 4}
	shows(size, "xxxx\nxxxx\n")
	many = 9
	shows(size, "xxxx\nxxxx\nxxxx\n")
	size = tea.WindowSizeMsg{Width: 3, Height: 2}
	shows(size, "xx\n")
	away = true
	shows(size, "")
	away = false
	shows(size, "xx\n")
	shows(endMsg{}, "")
	if v := m.View(); !v.DisableBracketedPasteMode || v.AltScreen || v.MouseMode != tea.MouseModeNone {
		t.Errorf("the view changes modes of the terminal: %+v", v)
	}
}

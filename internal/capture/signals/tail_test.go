package signals

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTail checks that new lines of a log are read, also in parts, after a rename and after truncation; older lines are
// not read.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	line := func(n int) string {
		return fmt.Sprintf("[2026-11-22 10:15:32] Decode batch, #running-req: %d, #queue-req: 0\n", n)
	}
	write := func(flags int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(0, line(1))
	log, err := OpenTail(path)
	if err != nil {
		t.Fatal(err)
	}
	running := func() float64 {
		log.more()
		ranks := log.Ranks(time.Now())
		if len(ranks) == 0 {
			return 0
		}
		return ranks[0].Running
	}
	steps := []struct {
		name string
		do   func()
		want float64
	}{
		{"older lines", func() {}, 0},
		{"a line", func() { write(os.O_APPEND, line(2)) }, 2},
		{"part of a line", func() { write(os.O_APPEND, line(33)[:30]) }, 2},
		{"the rest of it", func() { write(os.O_APPEND, line(33)[30:]) }, 33},
		{"an incomplete line", func() { write(os.O_APPEND, strings.Repeat("x", 3*mostLine)) }, 33},
		{"its end, and another line", func() { write(os.O_APPEND, "\n"+line(4)) }, 4},
		{"renamed, with a last line", func() {
			write(os.O_APPEND, line(5))
			if err := os.Rename(path, path+".1"); err != nil {
				t.Fatal(err)
			}
		}, 5},
		{"created again", func() { write(0, line(6)) }, 6},
		{"truncated", func() { write(os.O_TRUNC, "") }, 6},
		{"and written again", func() { write(os.O_APPEND, line(7)) }, 7},
	}
	for _, s := range steps {
		s.do()
		if got := running(); got != s.want {
			t.Errorf("%s: %g requests running, want %g", s.name, got, s.want)
		}
	}
}

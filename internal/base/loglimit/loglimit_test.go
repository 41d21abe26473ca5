package loglimit

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSeldom: a peer that causes a line every millisecond for ten seconds gets one per second into the log, and hides
// no other peer's.
func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := Log(slog.New(slog.NewTextHandler(&out, nil)))
		with := l.With("worker", 1)
		var lines Lines
		plain := func(text string) { fmt.Fprintln(&out, text) }
		for i := range 10000 {
			l.Warn("refused", "n", i)
			with.Error("refused", "n", i)
			lines.Printf(plain, "stranger %d", i)
			time.Sleep(time.Millisecond)
		}
		l.Warn("another")
		for range 50 {
			l.Info("told")
		}
		time.Sleep(2 * time.Second)
		lines.Printf(plain, "stranger %d", 10000)
		l.Warn("refused")
		for text, want := range map[string]int{"msg=refused": 20, "stranger": 20, "msg=another": 1, "msg=told": 50, "more such lines omitted": 10} {
			if n := strings.Count(out.String(), text); n != want {
				t.Errorf("%d lines with %s, want %d", n, text, want)
			}
		}
		told := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := told[len(told)-1]; !strings.Contains(last, "more_not_written=") {
			t.Errorf("the last line does not count the omitted ones: %s", last)
		}
	})
}

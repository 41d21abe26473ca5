package front

import (
	"log"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSeldom: a peer that causes a line a millisecond for ten seconds gets one a second into the log, and hides no other.
func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := Seldom(slog.New(slog.NewTextHandler(&out, nil)))
		with := l.With("worker", 1)
		http := log.New(httpLog{l}, "", 0)
		for i := range 10000 {
			l.Warn("refused", "n", i)
			with.Error("refused", "n", i)
			http.Printf("http: bad request from 127.0.0.1:%d", i)
			time.Sleep(time.Millisecond)
		}
		l.Warn("another")
		for range 50 {
			l.Info("told")
		}
		time.Sleep(2 * time.Second)
		l.Warn("refused")
		for text, want := range map[string]int{"msg=refused": 20, "msg=HTTP": 19, "msg=another": 1, "msg=told": 50} {
			if n := strings.Count(out.String(), text); n != want {
				t.Errorf("%d lines with %s, want %d", n, text, want)
			}
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, "more_not_written=") {
			t.Errorf("the last line does not tell of those that are not there: %s", last)
		}
	})
}

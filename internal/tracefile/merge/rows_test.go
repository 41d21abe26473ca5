package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// TestImpossible merges events with times that no profiler can measure, and the same events with possible times.
func TestImpossible(t *testing.T) {
	event := func(cat string, ts, dur float64, id int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": "e%d", "pid": 0, "tid": 7, "ts": %.3f, "dur": %.3f, "args": {"correlation": %d}}`, cat, id, ts, dur, id)
	}
	const day = 86_400e6 // µs
	for _, c := range []struct {
		name     string
		change   func(at, dur *float64, i int)
		cat      string
		want     trace.NoteKind
		n, lacks int64
	}{
		{"as recorded", func(_, _ *float64, _ int) {}, "kernel", trace.NoNote, 0, 0},
		{"API calls as recorded", func(_, _ *float64, _ int) {}, "cuda_runtime", trace.NoNote, 0, 0},
		{"the first time is 0", func(at, _ *float64, i int) {
			if i == 0 {
				*at = 0
			}
		}, "kernel", trace.NoteDaysAway, 1, 1},
		{"every tenth time is 0", func(at, _ *float64, i int) {
			if i%10 == 3 {
				*at = 0
			}
		}, "kernel", trace.NoteDaysAway, 2, 2},
		{"a negative duration", func(_, dur *float64, i int) {
			if i == 5 {
				*dur = -1
			}
		}, "kernel", trace.NoteNegative, 1, 0},
		{"a kernel runs on", func(_, dur *float64, i int) {
			if i == 5 {
				*dur = 25_000
			}
		}, "kernel", trace.NoteRunsOn, 1, 0},
		{"the clock is set back during an op", func(_, dur *float64, i int) {
			if i == 9 {
				*dur = 30_000
			}
			if i == 19 {
				*dur = 40_000
			}
		}, "cpu_op", trace.NoteCross, 1, 0},
		{"ops as recorded", func(_, _ *float64, _ int) {}, "cpu_op", trace.NoNote, 0, 0},
		{"the clock is set back", func(at, _ *float64, i int) {
			if i >= 10 {
				*at -= 30_000
			}
		}, "cuda_runtime", trace.NoteSetBack, 1, 0},
	} {
		var events []string
		for i := range 20 {
			at, dur := 2*day+100*float64(i), 50.0
			c.change(&at, &dur, i)
			events = append(events, event(c.cat, at, dur, i+1))
		}
		dir, _ := write(t, "id-TP-0.trace.json", traceOf("", events...))
		d, res := merged(t, find(t, dir), Options{})
		if int64(len(d.Events)) != 20-c.lacks || res.Events != 20-c.lacks {
			t.Errorf("%s: got %d events, want %d", c.name, len(d.Events), 20-c.lacks)
		}
		if c.n == 0 && len(res.Notes) > 0 || c.n > 0 && (len(res.Notes) != 1 || res.Notes[0].Kind != c.want || res.Notes[0].Count != c.n) {
			t.Errorf("%s: got notes %q, want %d of kind %d", c.name, res.Notes, c.n, c.want)
		}
		if self := string(d.Meta["stepscope"]); c.n > 0 && !strings.Contains(self, res.Notes[0].Text()) {
			t.Errorf("%s: the metadata lack the note: %s", c.name, self)
		}
	}
}

package merge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
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

// FuzzRows: no text of a trace makes the check of its rows panic, or count more violations than events.
func FuzzRows(f *testing.F) {
	event := func(cat, pid string, id int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": "k", "pid": %q, "tid": 7, "ts": %d, "dur": 5, "args": {"correlation": %d}}`, cat, pid, 10*id, id)
	}
	for _, pid := range []string{"0", "", "] x", "] ", "[TP00] 0", "[] 0", "["} {
		f.Add([]byte(traceOf("", event("cuda_runtime", pid, 1), event("kernel", pid, 1), event("gpu_memcpy", pid, 0), event("kernel", pid, -2))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := chromejson.NewScanner(bytes.NewReader(text))
		defer s.Close()
		rows := Rows{Most: 8}
		for {
			kind, err := s.Next()
			if err != nil {
				break
			}
			e := &s.Event
			start, _ := chromejson.ParseMicros(e.Text(e.TS))
			dur, _ := chromejson.ParseMicros(e.Text(e.Dur))
			if kind == chromejson.EventToken && e.Ph == 'X' && !trace.Away(start, 0) && dur < trace.Longest && dur > -trace.Longest {
				rows.Event(e, start, start+dur)
			}
		}
		for _, n := range rows.End("") {
			if n.Kind != trace.NoteUnpaired && n.Kind != trace.NoteTwiceUnknown && n.Count > s.Stats.Events {
				t.Errorf("%d of %v in %d events", n.Count, n, s.Stats.Events)
			}
		}
	})
}

// TestManyOps: above the limit, Rows keeps no op to find repeated ones, and says so.
func TestManyOps(t *testing.T) {
	for _, c := range []struct {
		name      string
		ops, most int
		want      trace.NoteKind
		n         int64
	}{
		{"as many as the limit", 4 * hashes, 4, trace.NoteTwice, 1},
		{"one more", 4*hashes + 1, 4, trace.NoteTwiceUnknown, 4 * hashes},
		{"above the limit of memory", mostSeen + 1, mostSeen, trace.NoteTwiceUnknown, mostSeen},
	} {
		s := chromejson.NewScanner(strings.NewReader(traceOf("", `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {"correlation": 1}}`)))
		if kind, err := s.Next(); err != nil || kind != chromejson.EventToken {
			t.Fatal(kind, err)
		}
		rows := Rows{Most: c.most}
		for i := range c.ops {
			start := int64(10 * max(i, 1)) // the first two are equal
			rows.Event(&s.Event, start, start+5)
		}
		s.Close()
		notes := rows.End("")
		if len(notes) != 1 || notes[0].Kind != c.want || notes[0].Count != c.n || cap(rows.seen) > mostSeen+256 {
			t.Errorf("%s: %v and %d hashes, want %d of kind %d", c.name, notes, cap(rows.seen), c.n, c.want)
		}
	}
}

package experiment

import (
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
)

// TestMoment checks when another window opens: when requests wait longer than in the latest window, and when the windows
// have not touched too much of the load.
func TestMoment(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name string
		m    moment
		want bool
	}{
		{"waits are twice as long", moment{waits: 2 * s, level: s, rest: 15 * s, touched: s, windows: 1}, true},
		{"waits are as before", moment{waits: 12 * s / 10, level: s, rest: 15 * s, touched: s, windows: 1}, false},
		{"soon after an expensive window", moment{waits: 2 * s, level: s, rest: 5 * s, touched: s, windows: 1}, false},
		{"soon after a cheap window", moment{waits: 2 * s, level: s, rest: 4 * s, touched: s / 10, windows: 1}, true},
		{"at once", moment{waits: 2 * s, level: s, rest: s / 2, windows: 1}, false},
		{"the last first tokens", moment{waits: s, level: s, rest: 5 * s, touched: s, windows: 1, last: true, grown: true, slow: true}, true},
		{"the last first tokens of an even load", moment{waits: s, level: s, rest: 5 * s, touched: s, windows: 1, last: true, slow: true}, false},
		{"the last first tokens, not late", moment{waits: s, level: s, rest: 5 * s, touched: s, windows: 1, last: true, grown: true}, false},
		{"waits grow", moment{after: 12 * s, waited: 6 * s, level: 5 * s, rest: 7 * s, touched: s, windows: 2, grown: true, untilLast: 30 * s}, true},
		{"waits grow, soon after a window", moment{after: 12 * s, waited: 6 * s, level: 5 * s, rest: 5 * s, touched: s, windows: 2, grown: true, untilLast: 30 * s}, false},
		{"waits have grown, but no longer", moment{after: 12 * s, waited: 5 * s, level: 5 * s, rest: 7 * s, touched: s, windows: 2, grown: true, untilLast: 30 * s}, false},
		{"waits grow, shortly before the last first tokens", moment{after: 12 * s, waited: 6 * s, level: 5 * s, rest: 7 * s, touched: s, windows: 2, grown: true, untilLast: 3 * s}, false},
		{"a full queue, in the second half", moment{after: 12 * s, waited: 5 * s, level: 5 * s, rest: 5 * s, touched: s, windows: 2, grown: true, slow: true, left: 0.4, leftAt: 0.7, untilLast: 6 * s}, true},
		{"a full queue, in the first half", moment{after: 12 * s, waited: 5 * s, level: 5 * s, rest: 5 * s, touched: s, windows: 2, grown: true, slow: true, left: 0.5, leftAt: 0.8, untilLast: 6 * s}, false},
		{"a full queue, waits longer than before", moment{after: 60 * s, waited: 11 * s, level: 10 * s, rest: 10 * s, touched: s, windows: 3, grown: true, refuses: true, left: 0.7, leftAt: 0.8, untilLast: 60 * s}, true},
		{"a full queue, waits as before", moment{after: 60 * s, waited: 10 * s, level: 10 * s, rest: 10 * s, touched: s, windows: 3, grown: true, refuses: true, left: 0.7, leftAt: 0.8, untilLast: 60 * s}, false},
		{"a growing queue, waits longer than before", moment{after: 60 * s, waited: 11 * s, level: 10 * s, rest: 10 * s, touched: s, windows: 3, grown: true, left: 0.7, leftAt: 0.8, untilLast: 60 * s}, false},
		{"a full queue, soon after a window", moment{after: 12 * s, waited: 5 * s, level: 5 * s, rest: 5 * s, touched: s, windows: 2, grown: true, slow: true, left: 0.4, leftAt: 0.5, untilLast: 6 * s}, false},
		{"a window is left for the last first tokens", moment{waits: 9 * s, level: s, rest: 15 * s, touched: s, windows: mostWindows - 2}, false},
		{"and opens for them", moment{rest: 15 * s, touched: s, windows: mostWindows - 1, last: true, grown: true, slow: true}, true},
	} {
		if got := c.m.due(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSlowestIn checks that the window of the slow requests is kept, not that of the most requests.
func TestSlowestIn(t *testing.T) {
	var records []bench.Record
	for i := range int64(100) {
		r := bench.Record{Sent: i * 10, First: i*10 + 5}
		if i >= 40 && i < 50 {
			r.First = i*10 + 300
		}
		r.Done, r.OutputLen, r.Chunks = r.First, 1, []bench.Chunk{{At: r.First, Tokens: 1, Text: true}}
		records = append(records, r)
	}
	early, slow, late := bench.Span{From: 0, To: 600}, bench.Span{From: 750, To: 800}, bench.Span{From: 900, To: 995}
	for _, c := range []struct {
		spans []bench.Span
		want  int
	}{{[]bench.Span{early, slow, late}, 1}, {[]bench.Span{early, late}, 0}, {[]bench.Span{{From: 1, To: 2}, early}, 1}, {[]bench.Span{early}, 0}} {
		if got := slowestIn(records, c.spans); got != c.want {
			t.Errorf("%v: kept %d, want %d", c.spans, got, c.want)
		}
	}
}

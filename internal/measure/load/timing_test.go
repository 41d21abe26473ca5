package load

import (
	"slices"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
)

// TestHist checks that a quantile is at most a sixteenth too high and never too low.
func TestHist(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []int64
		q      float64
		want   int64
	}{
		{"none", nil, 0.5, 0},
		{"small values are exact", []int64{3, 1, 2}, 0.5, 2},
		{"below zero is zero", []int64{-5}, 1, 0},
		{"the largest", []int64{10, 1e9}, 1, 1e9},
		{"microseconds", []int64{1000, 2000, 3000, 4000}, 0.5, 3000},
		{"hours", []int64{6 * 3600e9}, 0.99, 6 * 3600e9},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h Hist
			for _, v := range c.values {
				h.Add(v)
			}
			if got := h.Quantile(c.q); got < c.want || got > c.want+c.want/16 {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestClock checks that timestamps follow when the wall clock is set.
func TestClock(t *testing.T) {
	c := newClock()
	before := c.now()
	at := c.fromWall(time.Now().UnixNano())
	after := c.now()
	if slack := int64(time.Millisecond); at < before-slack || at > after+slack {
		t.Errorf("a wall time between %d and %d became %d", before, after, at)
	}
	c.offset.Add(int64(time.Hour)) // as if the wall clock had been an hour ahead when it was read
	c.watch()
	if d := c.moved.Load(); d < int64(59*time.Minute) || d > int64(61*time.Minute) {
		t.Errorf("the offset moved by %v, want an hour", time.Duration(d))
	}
	if d := c.drift(); d < -int64(time.Second) || d > int64(time.Second) {
		t.Errorf("drift %v", time.Duration(d))
	}
}

// TestVerdict checks that the verdict on a client's errors depends on the measured times.
func TestVerdict(t *testing.T) {
	const ms = int64(1e6)
	type facts struct {
		late, ttft, gap int64
		kernel          bool
		unstamped       int64
		tick            int64 // lateness of the canary
		merged, reads   int
		lag             int64
		drift           int64
	}
	for _, c := range []struct {
		name string
		f    facts
		want string
	}{
		{"all good", facts{late: ms / 10, ttft: 100 * ms, gap: 20 * ms, kernel: true, lag: ms / 10}, "clean"},
		{"late, but by little of a long TTFT", facts{late: 20 * ms, ttft: 1000 * ms, gap: 20 * ms, kernel: true}, "clean"},
		{"late by a fifteenth of the TTFT", facts{late: 20 * ms, ttft: 300 * ms, gap: 20 * ms, kernel: true}, "suspect"},
		{"late by half of the TTFT", facts{late: 20 * ms, ttft: 40 * ms, gap: 20 * ms, kernel: true}, "invalid"},
		{"a late reader with kernel timestamps", facts{ttft: 100 * ms, gap: 20 * ms, kernel: true, lag: 15 * ms, tick: 15 * ms}, "clean"},
		{"a late reader without timestamps", facts{ttft: 100 * ms, gap: 20 * ms, tick: 4 * ms}, "suspect"},
		{"a very late reader", facts{ttft: 100 * ms, gap: 20 * ms, tick: 15 * ms}, "invalid"},
		{"missing timestamps", facts{ttft: 100 * ms, gap: 20 * ms, kernel: true, unstamped: 50, tick: 15 * ms}, "invalid"},
		{"merged by the server", facts{ttft: 100 * ms, gap: 20 * ms, kernel: true, lag: ms / 10, merged: 50, reads: 100}, "clean"},
		{"merged because the client was late", facts{ttft: 100 * ms, gap: 20 * ms, kernel: true, lag: 25 * ms, merged: 50, reads: 100}, "suspect"},
		{"the wall clock was set", facts{ttft: 100 * ms, gap: 20 * ms, kernel: true, drift: 2 * ms}, "suspect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := bench.Record{Sent: 0, First: c.f.ttft, Chunks: []bench.Chunk{{At: c.f.ttft}, {At: c.f.ttft + c.f.gap}}}
			r := &run{records: []bench.Record{rec}, kernel: c.f.kernel, clock: newClock(), flights: []*flight{{reads: c.f.reads, twins: c.f.merged}}}
			r.clock.offset.Add(c.f.drift)
			r.health.late = []int64{c.f.late}
			r.health.unstamped.Store(c.f.unstamped)
			for range 100 {
				r.health.ticks.Add(c.f.tick)
				if c.f.kernel {
					r.health.lag.Add(c.f.lag)
				}
			}
			got := r.health.report(r, 0)
			if got.Verdict != c.want {
				t.Errorf("got %s, want %s: %q", got.Verdict, c.want, got.Evidence)
			}
			if c.want != "clean" && !slices.ContainsFunc(got.Evidence, func(s string) bool { return s[:len(c.want)] == c.want }) {
				t.Errorf("no evidence for %s: %q", c.want, got.Evidence)
			}
		})
	}
}

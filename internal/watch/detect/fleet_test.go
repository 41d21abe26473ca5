package detect_test

import (
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/testing/detecttest"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// TestFleet checks that ten minutes without faults give no alarm, however requests are distributed, and that a fault
// after them is found within seconds, with its rank and its onset. scripts/truth/watch.sh simulates more of it.
func TestFleet(t *testing.T) {
	t.Parallel()
	type fleet = detecttest.Fleet
	const from = 600.
	for _, c := range []struct {
		name   string
		change func(*fleet)
		rule   string // "": none
		within float64
	}{
		{"nothing", func(*fleet) {}, "", 0},
		{"no fault, at random", func(f *fleet) { f.Routing = detecttest.Random }, "", 0},
		{"no fault, with bursts, a gap and missing samples", func(f *fleet) { f.Bursts, f.Hole, f.Missing = true, 300, 0.1 }, "", 0},
		{"no fault, with a restart", func(f *fleet) { f.Restart = 300 }, "", 0},
		{"more requests to one rank", func(f *fleet) { f.Skew, f.From = 4, from }, detect.UnevenLoad, 15},
		{"one rank is slow", func(f *fleet) { f.Slow, f.From = 2, from }, detect.UnevenPace, 8},
		{"one rank is slow and has few requests", func(f *fleet) { f.Slow, f.From, f.Load = 3, from, 4 }, detect.UnevenPace, 12},
		{"one rank is slow from the beginning", func(f *fleet) { f.Slow, f.From = 2, 1e-9 }, detect.UnevenPace, 25},
		{"all ranks are slow", func(f *fleet) { f.AllSlow, f.From = 2, from }, detect.SlowTokens, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fleet{Seed: 3, Ranks: 4, Load: 16, Tokens: 300, Step: 20 * time.Millisecond, Most: 256, Routing: detecttest.RoundRobin, Stale: true}
			c.change(&f)
			e := detect.Engine{Rules: detect.Defaults(), Every: time.Second}
			found := false
			f.Play(660, func(s int, l *signals.Live) {
				if l == nil {
					return
				}
				for _, ev := range e.Take("server", l) {
					since := float64(s+1) - f.From
					switch {
					case ev.Ended || found:
					case c.rule == "" || since < 0:
						t.Errorf("%s at second %d: %.2f, limit %.2f", ev.Rule.Name, s, ev.Value, ev.Limit)
					case ev.Rule.Name == c.rule:
						found = true
						if since > c.within {
							t.Errorf("found after %.0f s", since)
						}
						if off := l.At.Sub(ev.Onset).Seconds() - since; f.From > 1 && (off < -8 || off > 3) {
							t.Errorf("the onset is dated %.0f s before it", off)
						}
						if c.rule != detect.SlowTokens && ev.Who != 1 {
							t.Errorf("rank %d", ev.Who)
						}
					}
				}
			})
			if c.rule != "" && !found {
				t.Errorf("no %s", c.rule)
			}
		})
	}
}

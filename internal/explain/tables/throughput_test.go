package tables

import (
	"math/rand/v2"
	"testing"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// sampleOf returns a sample of decode steps. length gives the length of each step, in ms, and batch its batch size.
func sampleOf(seed uint64, n int, length func(step int) float64, batch func(step int) int) *Sample {
	r := rand.New(rand.NewPCG(seed, 1))
	h := &Sample{a: &match.Aligned{Domains: make([]*match.Domain, 1)}, steps: map[bucket]*figures{}, total: map[bucket]float64{}}
	for i := range n {
		b := bucket{"decode", "", batch(i)}
		f := at(h.steps, b)
		h.placed = append(h.placed, sampled{b, len(f[0]), 1})
		for figure := range f {
			f[figure] = append(f[figure], length(i)*(1+0.03*r.NormFloat64())*1e6)
		}
	}
	return h
}

// TestThroughput: stalls in a few steps hardly change the median step. The time per step shows them; a limit is exceeded
// if the whole interval lies beyond it, and undecided if only the estimate does. The mix of batch sizes has no effect.
func TestThroughput(t *testing.T) {
	usual := func(int) float64 { return 10 }
	stalls := func(every int, ms float64) func(int) float64 {
		return func(i int) float64 {
			if i%every == every/2 {
				return 10 + ms
			}
			return 10
		}
	}
	one := func(int) int { return 16 }
	for _, c := range []struct {
		name             string
		length           func(int) float64
		batch            func(int) int
		verdict          string
		worse, undecided bool
	}{
		{"equal", usual, one, result.Same, false, false},
		{"4 % on each step", func(int) float64 { return 10.4 }, one, result.Slower, false, false},
		{"8 % on each step", func(int) float64 { return 10.8 }, one, result.Slower, true, false},
		{"stalls in 6 of 36 steps, 64 % in all", stalls(6, 38), one, result.Slower, true, false},
		{"stalls in 9 of 36 steps, 31 % in all", stalls(4, 12.4), one, result.Slower, true, false},
		{"one stall, 31 % in all", stalls(36, 111), one, result.NotClear, false, true},
		{"shorter steps of smaller batches", func(i int) float64 { return 10 - float64(i%3) }, func(i int) int { return 16 - i%3 }, result.Same, false, false},
		{"stalls with other batch sizes", func(i int) float64 { return stalls(4, 12.4)(i) - float64(i%3) }, func(i int) int { return 16 - i%3 }, result.Slower, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := usual
			if c.batch(1) != 16 {
				base = func(i int) float64 { return 10 - float64(i/12) }
			}
			a := sampleOf(1, 36, base, func(i int) int {
				if c.batch(1) != 16 {
					return 16 - i/12
				}
				return 16
			})
			b := sampleOf(2, 36, c.length, c.batch)
			got := Compare(a, b, gate.Limits{{By: 0.05}}, false, true)
			if len(got.Throughput) != 2 || got.Throughput[0].Figure != "time_per_step" || got.Throughput[1].Figure != "throughput" {
				t.Fatalf("got rows %+v", got.Throughput)
			}
			d, tokens := got.Throughput[0], got.Throughput[1]
			if d.Verdict != c.verdict || len(got.Regressions) > 0 != c.worse || len(got.Undecided) > 0 != c.undecided {
				t.Errorf("got %+v, regressions %v, undecided %v", d, got.Regressions, got.Undecided)
			}
			if product := d.A * tokens.A / (d.B * tokens.B); product < 0.999 || product > 1.001 || tokens.Verdict != d.Verdict || tokens.Lo > tokens.Change || tokens.Change > tokens.Hi {
				t.Errorf("got tokens %+v beside %+v", tokens, d)
			}
		})
	}
}

package worth_test

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestEvenedOut: balancing gains the difference to the mean in each place, since no work goes away. Of four ranks,
// three take 100 µs in each of three layers and one 200, so the gain is 3 × 75 µs, not the 3 × 100 by which that rank
// exceeds the others.
func TestEvenedOut(t *testing.T) {
	for _, c := range []struct {
		name    string
		work    string
		slowest func(step, layer int) int
		kind    string // of the finding that reports it
	}{
		{"experts, always one rank", result.Experts, func(int, int) int { return 1 }, result.Straggler},
		{"experts, another rank in each layer", result.Experts, func(_, layer int) int { return layer }, result.UnevenExperts},
		{"attention, another rank in each layer", result.Attention, func(_, layer int) int { return layer }, result.UnevenAttention},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := explaintest.Even(12)
			m.Waits = true
			m.Name = func(int, int) string { return "step[DECODE bs=16]" }
			of := func(rank, step, layer int) int64 {
				return 100_000 + 100_000*int64(explaintest.BoolInt(rank == c.slowest(step, layer)))
			}
			if m.Experts = of; c.work == result.Attention {
				m.Attention, m.Experts = of, explaintest.Even(12).Experts
			}
			r := explaintest.Analyzed(t, m.Traces())
			at := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Kind == c.kind })
			if at < 0 {
				t.Fatalf("no finding of kind %s%s", c.kind, explaintest.Describe(r))
			}
			x := r.Findings[at].Worth
			if won := x.Step - x.Without; !x.Known || x.Kind != "decode" || won < 223_000 || won > 227_000 || x.High >= x.Step {
				t.Errorf("balancing gains %d ns, want 223 to 227 µs: worth %+v, replay %+v%s", won, x, r.Replay, explaintest.Describe(r))
			}
		})
	}
}

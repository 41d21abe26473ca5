package explain_test

import (
	"testing"

	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestDrift has a second host whose clock gains 50 µs per second, over three seconds: more than the length of a
// collective. One rank is slow from step 20 on.
func TestDrift(t *testing.T) {
	const steps, period = 60, 50_000_000
	rank := func(tp int, gain float64) *trace.Trace {
		y := toytrace.New()
		wall := func(at int64) int64 { return 1e9 + at + int64(gain*float64(at)) }
		for n := range int64(steps) {
			at := n*period + n%7*13_000
			y.Step(wall(at), wall(at+period-1_000_000))
			corr := y.Launch("cudaGraphLaunch", wall(at+10), wall(at+1000))
			cursor := at + 5_000
			for range 4 {
				mine, all := int64(1_000_000), int64(1_000_000)
				if n >= 20 {
					all = 2_500_000
					if tp == 1 {
						mine = all
					}
				}
				y.Op(trace.Kernel, "gemm", corr, 1, wall(cursor), wall(cursor+mine), 8)
				cursor += all
				y.Op(trace.Kernel, toytrace.AllReduce, corr, 1, wall(cursor-all+mine), wall(cursor+12_000), 1)
				cursor += 12_000
			}
		}
		tr := y.Done()
		tr.Source.Rank.TP = tp
		tr.Source.Host = string(rune('a' + tp))
		return tr
	}
	want := explaintest.Analyzed(t, []*trace.Trace{rank(0, 0), rank(1, 0)})
	if got := explaintest.Stragglers(want); len(got) != 1 || got[0] != "rank 1 device 20-59" {
		t.Fatalf("without drift: got %q, want rank 1 device 20-59%s", got, explaintest.Describe(want))
	}
	for _, gain := range []float64{50e-6, -50e-6} {
		sameFindings(t, explaintest.Analyzed(t, []*trace.Trace{rank(0, 0), rank(1, gain)}), want, 0.01)
		sameFindings(t, explaintest.Analyzed(t, []*trace.Trace{rank(0, gain), rank(1, 0)}), want, 0.01)
	}
}

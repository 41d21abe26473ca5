package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestHiddenSends: sends under compute do not reduce exposed transfers, and sends beside those do not count twice.
func TestHiddenSends(t *testing.T) {
	const steps, period = 12, 1000 * us
	for _, c := range []struct {
		name     string
		from, to int64 // of a send, in its step
		want     bool
	}{
		{"no sends", 0, 0, true},
		{"hidden sends", 50 * us, 550 * us, true},
		{"sends during the transfers", 700 * us, 900 * us, true},
		{"sends only", 50 * us, 1000 * us, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ts []*trace.Trace
			for rank := range 2 {
				y := toytrace.New()
				for n := range int64(steps) {
					at := (n + 1) * period
					y.Step(at, at+400*us)
					if c.want {
						y.Run("gemm", at+5*us, at+20*us, at+600*us, 1)
						y.Run(toytrace.AllReduce, at+20*us, at+600*us, at+990*us, 1)
					}
					if c.to > 0 {
						y.Op(trace.Kernel, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", y.Launch("cudaLaunchKernel", at+35*us, at+40*us), 2, at+c.from, at+c.to, 1)
					}
				}
				tr := y.Done()
				tr.Source.Rank.TP, tr.Source.Path = rank, fmt.Sprint("rank", rank)
				ts = append(ts, tr)
			}
			r := explaintest.Analyzed(t, ts)
			at := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Kind == result.CommBound })
			if (at >= 0) != c.want || c.want && (r.Findings[at].CostNSPerStep < 380*us || r.Findings[at].CostNSPerStep > 400*us) {
				t.Errorf("comm-bound finding of 390 µs: want %v%s", c.want, explaintest.Describe(r))
			}
		})
	}
}

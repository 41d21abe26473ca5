package explain_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestCompareCauses: a change is explained by findings of one capture that the other lacks, or else by kernels.
func TestCompareCauses(t *testing.T) {
	longer := retime.Copy(explaintest.RealSet(t, "graphs"))
	for _, tr := range longer {
		explaintest.StretchTimes(tr, 1.3)
	}
	for _, c := range []struct {
		name    string
		a, b    []*trace.Trace
		opt     explain.CompareOptions
		verdict []string // substrings, in this order
		first   string   // cause: its change, its subject, and its ranks
		fits    bool
	}{
		{"a rank with more work", explaintest.RealSet(t, "balanced"), explaintest.RealSet(t, "compute_skew"), explain.CompareOptions{}, []string{
			"decode batch 16 is 5 % slower: 40.3 → 42.4 ms (p 0.025). Why: TP02 runs 84 more kernels a step than in A",
		}, "new straggler TP02", true},
		{"the extra work is gone", explaintest.RealSet(t, "compute_skew"), explaintest.RealSet(t, "balanced"), explain.CompareOptions{}, []string{
			"5 % faster: 42.4 → 40.3 ms", "Why: TP02 runs 84 fewer kernels a step than in A",
		}, "gone straggler TP02", true},
		{"no graphs", explaintest.RealSet(t, "graphs"), explaintest.RealSet(t, "balanced"), explain.CompareOptions{}, []string{
			"times as slow: 1.13 → 40.3 ms", "Why: decode steps are host-bound",
		}, "new host_bound ", true},
		{"ranks of one capture", explaintest.RealSet(t, "graph_work"), nil, explain.CompareOptions{OnlyA: "TP00", OnlyB: "TP01"}, []string{
			"B computes for 1.96 ms, A for 1.25 ms", "Why: TP01 runs 84 more kernels a step than in A",
		}, "new straggler TP01", true},
		{"all kernels on all ranks", explaintest.RealSet(t, "graphs"), longer, explain.CompareOptions{}, []string{
			"30 % slower", "Why: kernels of decode batch 16 take", "mostly ",
		}, "more kernels ", true},
		{"itself", explaintest.RealSet(t, "balanced"), nil, explain.CompareOptions{}, []string{"no change: all step figures are identical"}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.b == nil {
				c.b = c.a
			}
			got := explaintest.Compared(t, c.a, c.b, c.opt)
			rest := report.Words(got.Verdict)
			for _, want := range c.verdict {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("got verdict without %q: %s", want, report.Words(got.Verdict))
				}
				rest = after
			}
			first, fits := "", false
			if len(got.Causes) > 0 {
				x := &got.Causes[0]
				first, fits = x.Change+" "+x.Kind+" "+strings.Join(x.Ranks, ","), x.Fits
			}
			if first != c.first || fits != c.fits {
				t.Errorf("the first cause is %q (fits: %v), want %q (fits: %v)", first, fits, c.first, c.fits)
			}
		})
	}
}

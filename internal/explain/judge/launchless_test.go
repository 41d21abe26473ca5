package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestLostLaunches drops launches of captures with a late rank: the finding still names it. It is then unknown whether
// its host or its device begins late, and no finding blames the device for that; kernels that run longer still count as
// the device's.
func TestLostLaunches(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *retime.Model)
		rank   int
		first  int
		device bool
	}{
		{"host", explaintest.Paused(1, 3, 500*us), 1, 3, false},
		{"device", explaintest.Slowed(1.5, 4, 3), 3, 4, true},
	} {
		base := explaintest.Retimed(t, "graphs", c.change)
		cost := explaintest.Said(explaintest.Analyzed(t, base), result.Straggler)[0].CostNSPerStep
		for _, share := range []float64{1, 0.3} {
			for _, where := range [][]int{{0, 1, 2, 3}, {c.rank}} {
				t.Run(fmt.Sprintf("%s, %.0f %% of launches lost on ranks %v", c.name, 100*share, where), func(t *testing.T) {
					ts := retime.Copy(base)
					for _, rank := range where {
						retime.DropLaunches(ts[rank], share, 1)
					}
					r := explaintest.Analyzed(t, ts)
					late := explaintest.Said(r, result.Straggler)
					first, last, most := len(r.Steps), 0, int64(0)
					for _, f := range late {
						first, last, most = min(first, f.FirstStep), max(last, f.LastStep), max(most, f.CostNSPerStep)
					}
					if !slices.Equal(explaintest.LateRanks(r), []int{c.rank}) || first != c.first || last != len(r.Steps)-1 || explaintest.Abs(most-cost) > cost/10 {
						t.Errorf("want rank %d late from step %d to the end for %d ns a step%s", c.rank, c.first, cost, explaintest.Describe(r))
					}
					for _, f := range late {
						switch {
						case c.device && f.Cause != result.CauseDevice:
							t.Errorf("longer kernels: got cause %q, want device%s", f.Cause, explaintest.Describe(r))
						case !c.device && (f.Cause == result.CauseDevice || f.Cause == result.CauseWork || f.Cause == result.CauseCommunication):
							t.Errorf("lost launches: got cause %q, want host or unknown%s", f.Cause, explaintest.Describe(r))
						case !c.device && share == 1 && f.Cause == result.CauseHost:
							t.Errorf("all launches lost: got cause %q, want unknown%s", f.Cause, explaintest.Describe(r))
						}
						for _, e := range f.Evidence {
							if share == 1 && e.Text.Key == "kernel_late" {
								t.Errorf("all launches lost, but the evidence compares launches: %s", report.Words(e.Text))
							}
						}
					}
				})
			}
		}
	}
}

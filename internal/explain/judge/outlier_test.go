package judge_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestOutlier makes hosts stall for 450 ms in one step, all of them or one. It is at most a slow step, and changes the
// cost of no other finding.
func TestOutlier(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(explaintest.Traces, "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no captures found", err)
	}
	for _, dir := range dirs {
		set := filepath.Base(dir)
		base := explaintest.Analyzed(t, explaintest.RealSet(t, set))
		kinds := map[string]int{}
		for _, s := range base.Steps {
			kinds[s.Kind]++
		}
		// Use the last step with enough similar ones to be an outlier: the time before its first work counts towards
		// the previous step, and in the next step the host no longer runs ahead of its device.
		step := len(base.Steps) - 2
		like := func(n int) bool { return base.Steps[n].Kind == base.Steps[step].Kind }
		for step > 1 && (!like(step-1) || !like(step+1) || kinds[base.Steps[step].Kind] < 5) {
			step--
		}
		if step < 2 {
			continue
		}
		share := int64(20) // costs may differ by 1/share
		if kinds[base.Steps[step].Kind] <= 10 {
			share = 5 // the median of so few steps may change
		}
		for _, ranks := range [][]int{{1}, seqTo(len(base.Source.Ranks))} {
			t.Run(fmt.Sprintf("%s ranks %v", set, ranks), func(t *testing.T) {
				r := explaintest.Analyzed(t, explaintest.Retimed(t, set, func(m *retime.Model) {
					for _, rank := range ranks {
						m.Pause(rank, step, 450*ms)
					}
				}))
				for _, want := range explaintest.Said(base, result.HostBound, result.CommBound, result.LaunchBound, result.SlowLayer) {
					at := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.ID == want.ID })
					if at < 0 {
						t.Errorf("with one slow step: finding %s is missing%s", want.ID, explaintest.Describe(r))
						continue
					}
					got := r.Findings[at]
					if off := got.CostNSPerStep - want.CostNSPerStep; max(off, -off) > want.CostNSPerStep/share+20*us || got.Severity != want.Severity {
						t.Errorf("%s: got %s, %d ns a step, want %s, %d ns", want.ID, got.Severity, got.CostNSPerStep, want.Severity, want.CostNSPerStep)
					}
				}
				for _, f := range explaintest.Said(r, result.HostBound, result.CommBound, result.LaunchBound, result.ColdStart) {
					if !slices.ContainsFunc(base.Findings, func(b result.Finding) bool { return b.ID == f.ID }) {
						t.Errorf("with one slow step: got new finding %s%s", f.ID, explaintest.Describe(r))
					}
				}
				for _, want := range explaintest.Said(base, result.Straggler) {
					// One more late step of a host may extend a stretch of such steps.
					if want.Cause == result.CauseHost && len(ranks) == 1 {
						continue
					}
					if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
						off := f.CostNSPerStep - want.CostNSPerStep
						return f.Kind == want.Kind && f.Cause == want.Cause && slices.Equal(f.Ranks, want.Ranks) && max(off, -off) <= want.CostNSPerStep/5+20*us
					}) {
						t.Errorf("with one slow step: want %s at a cost of %d ns%s", explaintest.Brief(want), want.CostNSPerStep, explaintest.Describe(r))
					}
				}
			})
		}
	}
}

func seqTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

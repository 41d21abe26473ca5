package judge_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// TestHealthy splits captures without injected faults into all pairs of ranks and many windows of a few steps: in none
// of them does a rank have more work, a slower device or slower transfers. Few ranks and steps are the hardest case.
func TestHealthy(t *testing.T) {
	dirs := []string{filepath.Join(explaintest.Traces, "graphs"), filepath.Join(explaintest.Traces, "stacks"), filepath.Join(explaintest.Traces, "balanced")}
	if root := os.Getenv("STEPSCOPE_DATA"); root != "" {
		dirs = append(dirs, filepath.Join(root, "traces", "large"))
	}
	if root := os.Getenv("STEPSCOPE_CAPTURES"); root != "" {
		for _, s := range []string{"e_balanced", "e_balanced_prefill", "e_moe_dp", "g_balanced", "g_both_slower", "g_hidden_host_r1"} {
			if _, err := os.Stat(filepath.Join(root, s)); err == nil {
				dirs = append(dirs, filepath.Join(root, s))
			}
		}
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			all := explaintest.ReadDir(t, dir)
			steps := len(explaintest.NewInjector(t, all).Ranks[0].Steps)
			check := func(what string, ts []*trace.Trace) {
				t.Helper()
				r := explaintest.Analyzed(t, ts)
				bad := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
					return f.Kind == result.Straggler && f.Cause != result.CauseHost || f.Kind == result.SlowLink
				})
				if bad {
					t.Errorf("%s: got a late rank by work, device or transfers, want none%s", what, explaintest.Describe(r))
				}
			}
			for i := range all {
				for j := range i {
					check("ranks "+all[j].Source.Rank.String()+" and "+all[i].Source.Rank.String(), []*trace.Trace{all[j], all[i]})
				}
			}
			const length = 5
			for from := 1; from+length <= steps; from += max(1, steps/8) {
				ts := make([]*trace.Trace, len(all))
				for i := range ts {
					ts[i] = explaintest.DropSteps(all[i], func(n, _ int) bool { return n < from || n >= from+length })
				}
				check("steps from "+string(rune('0'+from/10))+string(rune('0'+from%10)), ts)
			}
		})
	}
}

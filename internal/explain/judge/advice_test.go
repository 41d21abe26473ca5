package judge_test

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestGraphsAdvised: CUDA graphs are advised where they would help, for the launches that usually cost most.
func TestGraphsAdvised(t *testing.T) {
	t.Run("decode runs as graphs", func(t *testing.T) {
		for _, set := range []string{"sglang_stops", "sglang_shared", "graphs", "g_mixed"} {
			if r := explaintest.Analyzed(t, explaintest.RealSet(t, set)); explaintest.Has(r, result.LaunchBound) {
				t.Errorf("%s: the report advises CUDA graphs, but decode already runs as graphs%s", set, explaintest.Describe(r))
			}
		}
	})
	t.Run("one blocked call", func(t *testing.T) {
		want := explaintest.Said(explaintest.Analyzed(t, explaintest.RealSet(t, "compute_skew")), result.LaunchBound)
		r := explaintest.NewInjector(t, explaintest.RealSet(t, "compute_skew")).Ranks[1]
		call := r.Calls[len(r.Calls)*2/3]
		got := explaintest.Analyzed(t, explaintest.Retimed(t, "compute_skew", func(m *retime.Model) { m.PauseAt(1, (call.Start+call.End)/2, 5000*ms) }))
		for _, f := range explaintest.Said(got, result.LaunchBound) {
			if f.CostNSPerStep > want[0].CostNSPerStep*11/10 {
				t.Errorf("one blocked call: graphs save %d ns a step, want %d as without it", f.CostNSPerStep, want[0].CostNSPerStep)
			}
		}
	})
}

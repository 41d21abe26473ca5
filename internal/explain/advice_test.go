package explain_test

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
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

// TestPrefillOfGPUOnly reduces captures to calls and GPU work, as in windows without CPU activities: their prefill is
// still a step, before those that replay graphs.
func TestPrefillOfGPUOnly(t *testing.T) {
	for set, prefills := range map[string]int{"graphs": 1, "g_mixed": 2, "g_device_r1": 1} {
		t.Run(set, func(t *testing.T) {
			want := explaintest.Analyzed(t, explaintest.RealSet(t, set))
			ts := retime.Copy(explaintest.RealSet(t, set))
			for _, tr := range ts {
				tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool {
					return !s.Cat.OnGPU() && !s.Cat.Launch() && s.Cat != trace.Window
				})
			}
			r := explaintest.Analyzed(t, ts)
			eager := 0 // steps without graphs that have as many kernels as a prefill
			for _, s := range r.Steps {
				if s.Ranks[0].Graphs == 0 && 2*s.Ranks[0].Kernels > want.Steps[0].Ranks[0].Kernels {
					eager++
				}
			}
			if eager == 0 || eager > prefills {
				t.Errorf("got %d prefill steps before the replays, want %d: the first steps are %s and %s of %d%s", eager, prefills, r.Steps[0].Name, r.Steps[1].Name, len(r.Steps), explaintest.Describe(r))
			}
		})
	}
}

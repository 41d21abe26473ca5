package waits

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// TestLateSteps: in a capture whose second rank does more work from step 6 on, LateSteps returns each step from there on,
// with about the cost of the finding.
func TestLateSteps(t *testing.T) {
	sets, err := set.Find([]string{filepath.Join("..", "..", "..", "testdata", "traces", "graph_work")})
	if err != nil {
		t.Fatal(err)
	}
	traces, _, err := read.ReadSet(t.Context(), sets[0], read.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := explain.Analyze(traces, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &r.Findings[0]
	steps := LateSteps(r, traces)
	if f.Kind != result.Straggler || f.FirstStep == 0 || len(steps) != f.LastStep-f.FirstStep+1 {
		t.Fatalf("got %d late steps of finding %+v, want each of its steps", len(steps), f)
	}
	for i, l := range steps {
		start := r.Source.StartNS + r.Steps[f.FirstStep+i].Ranks[1].Start
		if l.From != start || l.To <= start || l.ID != f.ID || !reflect.DeepEqual(l.Title, f.Title) || l.Cost < f.CostNSPerStep/2 || l.Cost > 2*f.CostNSPerStep {
			t.Errorf("step %d: got %+v, want the step's start and about %d ns as in the finding", f.FirstStep+i, l, f.CostNSPerStep)
		}
	}
}

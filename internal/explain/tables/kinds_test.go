package tables_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestKindsOfRanks has ranks that do different work in one step, as with data-parallel attention: the step has the
// heavier kind, but the times of each rank count under its own kind.
func TestKindsOfRanks(t *testing.T) {
	rank := func(names ...string) *trace.Trace {
		y := toytrace.New()
		for n, name := range names {
			at := int64(n) * 1000
			y.Span(trace.UserAnnotation, 0, name, at, at+900)
			y.Run("gemm", at+10, at+30, at+500, 1)
		}
		return y.Done()
	}
	r := explaintest.Analyzed(t, []*trace.Trace{
		rank("step[IDLE bs=0]", "step[DECODE bs=4]", "step[DECODE bs=4]"),
		rank("step[EXTEND bs=1 toks=9]", "step[IDLE bs=0]", "step[DECODE bs=2]"),
	})
	for n, want := range []string{"prefill step[EXTEND bs=1 toks=9] 1 9", "decode step[DECODE bs=4] 4 4", "decode step[DECODE bs=4] 4 4"} {
		s := r.Steps[n]
		if got := fmt.Sprintf("%s %s %d %d", s.Kind, s.Name, s.Batch, s.Tokens); got != want {
			t.Errorf("step %d: got %s, want %s", n, got, want)
		}
	}
	var rows []string
	for _, row := range r.Times {
		rows = append(rows, fmt.Sprintf("%s %s %d", row.Rank, row.Kind, row.Steps))
	}
	if want := []string{"all all 6", "all decode 3", "all idle 2", "all prefill 1", "rank 0 all 3"}; !contains(rows, want) {
		t.Errorf("got times %q, want %q among them", rows, want)
	}
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

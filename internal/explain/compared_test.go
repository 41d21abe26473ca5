package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// unnamed removes the annotations of all steps but the first few.
func unnamed(ts []*trace.Trace, keep int) []*trace.Trace {
	for _, t := range ts {
		n := 0
		t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool {
			_, step := trace.ParseStep(t.Strings.Get(s.Name))
			if step = step && !s.Cat.OnGPU(); step {
				n++
			}
			return step && n > keep
		})
	}
	return ts
}

// TestFewCompared: if most collectives lie outside of steps, whether a rank is late is unknown, and the answer is
// partial. The same window with all its steps is balanced.
func TestFewCompared(t *testing.T) {
	for _, c := range []struct {
		name    string
		keep    int
		partial bool
	}{
		{"few steps named", 4, true},
		{"all steps named", 100, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzed(t, unnamed(realSet(t, "graphs"), c.keep))
			if r.Partial() != c.partial || has(r, result.Balanced) == c.partial {
				t.Errorf("got partial %v, balanced %v, want %v and the opposite%s", r.Partial(), has(r, result.Balanced), c.partial, describe(r))
			}
			if verdict := report.Words(r.Verdict); c.partial && (!strings.Contains(verdict, "whether a rank is late is unknown") || !strings.Contains(verdict, "lie outside the recognised steps")) {
				t.Errorf("got verdict %q, want that lateness is unknown, and why", verdict)
			}
		})
	}
}

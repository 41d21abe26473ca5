package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

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
			r := explaintest.Analyzed(t, explaintest.Unnamed(explaintest.RealSet(t, "graphs"), c.keep))
			if r.Partial() != c.partial || explaintest.Has(r, result.Balanced) == c.partial {
				t.Errorf("got partial %v, balanced %v, want %v and the opposite%s", r.Partial(), explaintest.Has(r, result.Balanced), c.partial, explaintest.Describe(r))
			}
			if verdict := report.Words(r.Verdict); c.partial && (!strings.Contains(verdict, "whether a rank is late is unknown") || !strings.Contains(verdict, "lie outside the recognised steps")) {
				t.Errorf("got verdict %q, want that lateness is unknown, and why", verdict)
			}
		})
	}
}

// TestClocksContradict: if the clock of a rank jumps while it records, collectives end on one rank before they begin on
// another. They are counted, and no ranks are called balanced. Few such collectives, and clocks that are merely apart,
// are not reported.
func TestClocksContradict(t *testing.T) {
	for _, c := range []struct {
		name   string
		base   string
		damage func(*trace.Trace)
		said   bool
	}{
		{"as recorded", "graphs", func(*trace.Trace) {}, false},
		{"an hour apart", "graphs", func(tr *trace.Trace) { retime.Clock(tr, 3600e9, 0) }, false},
		{"set back by half a step in the middle", "graphs", func(tr *trace.Trace) { explaintest.Jump(tr, 0.85, 500*us) }, true},
		{"set back near the end", "graphs", func(tr *trace.Trace) { explaintest.Jump(tr, 0.99, 500*us) }, false},
		{"as recorded, eager", "balanced", func(*trace.Trace) {}, false},
		{"set back in the middle, eager", "balanced", func(tr *trace.Trace) { explaintest.Jump(tr, 0.5, 30_000*us) }, true},
		{"set ahead in the middle, eager", "balanced", func(tr *trace.Trace) { explaintest.Jump(tr, 0.5, -30_000*us) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ts := explaintest.RealSet(t, c.base)
			c.damage(ts[1])
			r := explaintest.Analyzed(t, ts)
			i := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return strings.HasPrefix(f.ID, "data-clocks") })
			if i >= 0 != c.said || c.said && explaintest.Has(r, result.Balanced) {
				t.Fatalf("got contradictions %v, balanced %v, want contradictions %v%s", i >= 0, explaintest.Has(r, result.Balanced), c.said, explaintest.Describe(r))
			}
			if i >= 0 {
				n, of := r.Findings[i].Title.Get("n").(int), r.Findings[i].Title.Get("of").(int)
				if 10*n < of || n > of {
					t.Errorf("%d of %d collectives contradict the clocks", n, of)
				}
			}
		})
	}
}

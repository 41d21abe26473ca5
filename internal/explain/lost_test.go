package explain

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// dropKernels returns a set in which the recording lost a share of a rank's kernels from its n-th kernel on.
func dropKernels(set []*trace.Trace, rank int, share float64, from int) []*trace.Trace {
	out, rng, n := clone(set), rand.New(rand.NewPCG(7, 7)), 0
	out[rank].Spans = slices.DeleteFunc(out[rank].Spans, func(s trace.Span) bool {
		if s.Cat == trace.Kernel {
			n++
		}
		return s.Cat == trace.Kernel && n > from && rng.Float64() < share
	})
	return out
}

// TestLostInReplays: kernels that the recording lost inside graph replays are counted by step. Other numbers of kernels
// in other graphs are no loss: rank 1 of graph_work replays a graph of 117 kernels, and from step 6 on one of 201.
func TestLostInReplays(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     []*trace.Trace
		least   int // steps with lost work, of those that replay graphs
		partial bool
	}{
		{"graphs as recorded", realSet(t, "graphs"), 0, false},
		{"graph_work as recorded", realSet(t, "graph_work"), 0, false},
		{"graph_work from the last step with the smaller graph on", stepsOnly(realSet(t, "graph_work"), 1, 5, 14), 0, false},
		{"one rank alone", realSet(t, "graph_work")[1:], 0, false},
		{"graphs", dropKernels(realSet(t, "graphs"), 1, 0.4, 0), 10, true},
		{"graph_work", dropKernels(realSet(t, "graph_work"), 1, 0.4, 0), 14, true},
		{"graph_work, one rank alone", dropKernels(realSet(t, "graph_work")[1:], 0, 0.4, 0), 14, true},
		{"the last tenth of graph_work", dropKernels(realSet(t, "graph_work"), 1, 0.4, 2400), 1, true},
		{"3 % of graphs", dropKernels(realSet(t, "graphs"), 1, 0.03, 0), 0, true},
	} {
		r := analyzed(t, c.set)
		got := 0
		for _, f := range r.Findings {
			for _, e := range f.Evidence {
				if steps, ok := e.Text.Get("steps").([]int); ok && e.Text.Key == "lost_replays" {
					got += len(steps)
				}
			}
		}
		if got < c.least || c.least == 0 && got > 3 || r.Partial() != c.partial {
			t.Errorf("%s: got %d steps that lost kernels of replays, partial %t; want %d, %t%s", c.name, got, r.Partial(), c.least, c.partial, describe(r))
		}
		if late := strings.Join(stragglersOf(r), ", "); strings.Contains(late, "rank 0") {
			t.Errorf("%s: got %q, a lateness of the rank that lost nothing", c.name, late)
		}
	}
}

// TestLateBesideLost: a late rank is found beside a rank of which the recording lost work.
func TestLateBesideLost(t *testing.T) {
	want := stragglersOf(analyzed(t, realSet(t, "compute_skew")))
	for _, c := range []struct {
		name string
		set  []*trace.Trace
	}{
		{"as recorded", realSet(t, "compute_skew")},
		{"rank 1 lost work in all steps", dropKernels(realSet(t, "compute_skew"), 1, 0.4, 0)},
		{"rank 1 lost work in the second half", dropKernels(realSet(t, "compute_skew"), 1, 0.4, 700)},
	} {
		r := analyzed(t, c.set)
		lost := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-lost-tp01" })
		if late := stragglersOf(r); !slices.Equal(late, want) || lost >= 0 != r.Partial() || r.Partial() != (c.name != "as recorded") {
			t.Errorf("%s: got late ranks %q, finding of lost work %d; want %q%s", c.name, late, lost, want, describe(r))
		}
	}
}

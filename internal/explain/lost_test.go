package explain_test

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestLostInReplays: kernels that the recording lost inside graph replays are counted by step. Other numbers of kernels
// in other graphs are no loss: rank 1 of graph_work replays a graph of 117 kernels, and from step 6 on one of 201.
func TestLostInReplays(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     []*trace.Trace
		least   int // steps with lost work, of those that replay graphs
		partial bool
	}{
		{"graphs as recorded", explaintest.RealSet(t, "graphs"), 0, false},
		{"graph_work as recorded", explaintest.RealSet(t, "graph_work"), 0, false},
		{"graph_work from the last step with the smaller graph on", explaintest.StepsOnly(explaintest.RealSet(t, "graph_work"), 1, 5, 14), 0, false},
		{"g_mixed as recorded", explaintest.RealSet(t, "g_mixed"), 0, false}, // rank 1 has 114 kernels, then 234
		{"one rank alone", explaintest.RealSet(t, "graph_work")[1:], 0, false},
		{"graphs", explaintest.DropKernels(explaintest.RealSet(t, "graphs"), 1, 0.4, 0), 10, true},
		{"graph_work", explaintest.DropKernels(explaintest.RealSet(t, "graph_work"), 1, 0.4, 0), 14, true},
		{"graph_work, one rank alone", explaintest.DropKernels(explaintest.RealSet(t, "graph_work")[1:], 0, 0.4, 0), 14, true},
		{"the last tenth of graph_work", explaintest.DropKernels(explaintest.RealSet(t, "graph_work"), 1, 0.4, 2400), 1, true},
		{"3 % of graphs", explaintest.DropKernels(explaintest.RealSet(t, "graphs"), 1, 0.03, 0), 0, true},
	} {
		r := explaintest.Analyzed(t, c.set)
		got := 0
		for _, f := range r.Findings {
			for _, e := range f.Evidence {
				if steps, ok := e.Text.Get("steps").([]int); ok && e.Text.Key == "lost_replays" {
					got += len(steps)
				}
			}
		}
		if got < c.least || (c.least == 0 && got > 3 || !c.partial && got > 0) || r.Partial() != c.partial {
			t.Errorf("%s: got %d steps that lost kernels of replays, partial %t; want %d, %t%s", c.name, got, r.Partial(), c.least, c.partial, explaintest.Describe(r))
		}
		if late := strings.Join(explaintest.Stragglers(r), ", "); c.partial && len(c.set) > 1 && strings.Contains(late, "rank 0") {
			t.Errorf("%s: got %q, a lateness of the rank that lost nothing", c.name, late)
		}
	}
}

// TestNegativeDurations: kernels with negative durations count as lost. Taken as 0, they would make the GPU idle and
// collectives impossible.
func TestNegativeDurations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(explaintest.Traces, "graphs", "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	dur := regexp.MustCompile(`(?s)("cat": "kernel".*?"dur": )(\d)`)
	for _, share := range []float64{0, 0.25, 1} {
		dir, n, rng := t.TempDir(), 0, rand.New(rand.NewPCG(7, 7))
		for _, f := range files {
			text := dur.ReplaceAllFunc(packedtest.Read(t, f), func(b []byte) []byte {
				if n++; rng.Float64() >= share {
					return b
				}
				return dur.ReplaceAll(b, []byte("${1}-$2"))
			})
			if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(f), ".gz")), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
		ids := map[string]bool{}
		for _, f := range r.Findings {
			ids[f.ID] = true
		}
		lost := ids["data-lost-tp00"] && ids["data-lost-tp01"] && ids["data-lost-tp02"] && ids["data-lost-tp03"]
		if n < 4900 || explaintest.Has(r, result.HostBound) || len(explaintest.Said(r, result.Straggler)) > 0 || lost != (share > 0) || r.Partial() != lost || explaintest.Has(r, result.Balanced) == lost {
			t.Errorf("a share of %g of %d durations is negative: got lost %t%s", share, n, lost, explaintest.Describe(r))
		}
	}
}

// TestSetBack: a clock that is set back by 30 ms inside the longest op, which calls no API, makes the answer incomplete.
// The spans in progress end 30 ms earlier, so no two of them cross, but collectives contradict the clocks.
func TestSetBack(t *testing.T) {
	const by = 30_000_000
	for _, back := range []bool{false, true} {
		set := retime.Copy(explaintest.RealSet(t, "balanced"))
		var longest trace.Span
		for _, s := range set[1].Spans {
			if s.Cat == trace.CPUOp && s.Dur > longest.Dur {
				longest = s
			}
		}
		for i := range set[1].Spans {
			switch s := &set[1].Spans[i]; {
			case !back || s.End() < longest.End():
			case s.Start > longest.Start+by:
				s.Start -= by
			default:
				s.Dur = max(s.Dur-by, 0)
			}
		}
		slices.SortStableFunc(set[1].Spans, func(a, b trace.Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur)) })
		r := explaintest.Analyzed(t, set)
		if late := explaintest.Stragglers(r); r.Partial() != back || back && len(late) > 0 {
			t.Errorf("set back %t: got partial %t, late ranks %q%s", back, r.Partial(), late, explaintest.Describe(r))
		}
	}
}

// TestLostInSmallGraphs: a small graph has few sets of kernels, so sets that lack kernels recur too. They are less
// frequent than the complete set, which contains them.
func TestLostInSmallGraphs(t *testing.T) {
	small := func(kept int) []*trace.Trace { // each replay keeps kernels of its graph; the capture is repeated
		set := explaintest.RealSet(t, "graphs")
		for _, tr := range set {
			n := map[int64]int{}
			tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool {
				if s.Cat != trace.Kernel || s.Corr <= 0 {
					return false
				}
				n[s.Corr]++
				return n[s.Corr] > kept
			})
		}
		return set
	}
	for _, share := range []float64{0, 0.08} {
		set := small(8)
		for rank := range set {
			set = explaintest.DropKernels(set, rank, share, 0)
		}
		lossy, found, most := 0, 0, 0
		w := explain.Prepare(set, nil)
		if _, err := w.Analyze(explain.Options{}); err != nil {
			t.Fatal(err)
		}
		for pass := range 2 {
			for _, r := range w.Aligned().Ranks {
				for i := range r.Steps {
					s := &r.Steps[i]
					if s.Info.Kind != trace.Decode {
						continue
					}
					if pass == 0 {
						most = max(most, s.Kernels+s.Lost)
						continue
					}
					if s.Kernels+s.Lost < most {
						lossy++
					}
					if s.LostOps > 0 {
						found++
					}
				}
			}
		}
		if found > lossy || 10*found < 8*lossy || (lossy > 0) != (share > 0) {
			t.Errorf("a share of %g lost: got %d decode steps that lost kernels of replays, want %d", share, found, lossy)
		}
	}
}

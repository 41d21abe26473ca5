package explain_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// edgeStep is a step of one rank: its start, and its part in a collective, in µs.
type edgeStep struct{ start, arrives, leaves int64 }

// edgeRank returns the trace of a rank that is recorded from the start of its first step on.
func edgeRank(rank int, steps []edgeStep) *trace.Trace {
	y := toytrace.New()
	for _, s := range steps {
		y.Run("gemm", s.start*us, (s.start+10)*us, (s.start+30)*us, 1)
		y.Run(toytrace.AllReduce, (s.start+40)*us, s.arrives*us, s.leaves*us, 1)
		y.Step(s.start*us, (s.start+100)*us)
	}
	t := y.Done()
	t.Source.Rank.TP, t.Source.Path = rank, fmt.Sprint("rank", rank)
	return t
}

// TestUnrecorded: the time of a collective before a rank begins recording, or after a rank has ended, is no wait. Waits
// for ranks that are recorded stay.
func TestUnrecorded(t *testing.T) {
	second, third := edgeStep{10000, 11000, 13100}, edgeStep{20000, 21000, 29000}
	for _, c := range []struct {
		name             string
		first            edgeStep // of the first rank
		other            []edgeStep
		wait, unrecorded [3]int64 // of the first rank, by step
	}{
		{"begin together", edgeStep{0, 1000, 6100}, []edgeStep{{0, 6000, 6100}, {10000, 13000, 13100}, {20000, 28900, 29000}},
			[3]int64{5000, 2000, 7900}, [3]int64{}},
		{"one begins later", edgeStep{0, 1000, 6100}, []edgeStep{{5000, 6000, 6100}, {10000, 13000, 13100}, {20000, 28900, 29000}},
			[3]int64{0, 2000, 7900}, [3]int64{5000, 0, 0}},
		{"one begins later and is late", edgeStep{0, 1000, 9100}, []edgeStep{{5000, 9000, 9100}, {10000, 13000, 13100}, {20000, 28900, 29000}},
			[3]int64{3000, 2000, 7900}, [3]int64{5000, 0, 0}},
		{"late after both have begun", edgeStep{0, 5500, 7100}, []edgeStep{{5000, 7000, 7100}, {10000, 13000, 13100}, {20000, 28900, 29000}},
			[3]int64{1500, 2000, 7900}, [3]int64{}},
		{"one ends earlier", edgeStep{0, 1000, 1100}, []edgeStep{{0, 1000, 1100}, {10000, 13000, 13100}},
			[3]int64{0, 2000, 0}, [3]int64{0, 0, 8000}},
	} {
		r, err := explain.Analyze([]*trace.Trace{edgeRank(0, []edgeStep{c.first, second, third}), edgeRank(1, c.other)}, explain.Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		for n := range r.Steps {
			for _, p := range r.Steps[n].Ranks {
				if p.Compute+p.ExposedComm+p.ExposedCopy+p.Idle != p.Total || p.Transfer() < 0 || p.Rank == 1 && p.Unrecorded != 0 {
					t.Errorf("%s: step %d, rank %d: parts do not fit: %+v", c.name, n, p.Rank, p.Time)
				}
				if p.Rank == 0 && (p.CommWait != c.wait[n]*us || p.ExposedWait != c.wait[n]*us || p.Unrecorded != c.unrecorded[n]*us) {
					t.Errorf("%s: step %d: got wait %d, unrecorded %d, want %d, %d", c.name, n, p.CommWait/us, p.Unrecorded/us, c.wait[n], c.unrecorded[n])
				}
			}
		}
		var rows, steps int64
		for i := range r.Collectives {
			rows += r.Collectives[i].Unrecorded
		}
		for _, ns := range c.unrecorded {
			steps += ns * us
		}
		if rows != steps {
			t.Errorf("%s: got %d ns unrecorded in the table of collectives, want %d", c.name, rows, steps)
		}
	}
}

// TestEdgesOfCaptures: in real captures, the first step has no long waits although ranks begin recording apart, and
// transfers like those of the next step. No later step has unrecorded time.
func TestEdgesOfCaptures(t *testing.T) {
	for _, set := range []string{"compute_skew", "graphs", "graph_work", "stacks"} {
		r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(explaintest.Traces, set)))
		mean := func(n int, of func(*result.StepRank) int64) (sum int64) {
			for i := range r.Steps[n].Ranks {
				sum += of(&r.Steps[n].Ranks[i]) / int64(len(r.Steps[n].Ranks))
			}
			return sum
		}
		for n := range r.Steps {
			edge, wait := mean(n, func(p *result.StepRank) int64 { return p.Unrecorded }), mean(n, func(p *result.StepRank) int64 { return p.CommWait })
			if (edge > 0) != (n == 0) {
				t.Errorf("%s: step %d: got %d ns unrecorded, want some only in step 0", set, n, edge)
			}
			if n == 0 && 4*wait > edge {
				t.Errorf("%s: step 0: got wait %d beside %d ns unrecorded", set, wait, edge)
			}
		}
		moved := func(p *result.StepRank) int64 { return p.Transfer() }
		if first, next := mean(0, moved), mean(1, moved); first > next*3/2 && r.Steps[0].Kind == r.Steps[1].Kind {
			t.Errorf("%s: got transfers of %d ns in step 0, %d in step 1", set, first, next)
		}
	}
}

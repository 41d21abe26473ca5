package match_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

func capture(t *testing.T, name string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find([]string{filepath.Join("../../../testdata/traces", name)})
	if err != nil {
		t.Fatal(err)
	}
	traces, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return traces
}

func aligned(traces []*trace.Trace, named bool) *match.Aligned {
	var ranks []*prep.Rank
	for _, t := range traces {
		ranks = append(ranks, prep.Trace(t, nil))
	}
	names := prep.Join(ranks)
	var marks *prep.Markers
	if named {
		marks = prep.FindLayers(ranks)
	}
	return match.Align(ranks, names, marks)
}

// ordinals numbers the ops of a rank by step and launch, and within a replayed graph in the order of execution.
// Counterparts have equal ordinals if all ranks launch the same.
func ordinals(r *match.Rank) map[int32][2]int {
	out, next := map[int32][2]int{}, map[int]int{}
	order := make([]int32, len(r.Ops))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(r.Ops[a].Call - r.Ops[b].Call) })
	for _, i := range order {
		if step := int(r.Ops[i].Step); step >= 0 && r.Ops[i].Call >= 0 {
			out[i] = [2]int{step + r.First, next[step]}
			next[step]++
		}
	}
	return out
}

// TestCounterparts: on a capture of replayed graphs in which all ranks launch the same, nearly every op's counterpart
// is the one launched in the same place: with kernel names, without layer names, and with names that differ on each
// rank and so give no information.
func TestCounterparts(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers bool
		rename func(rank int, name string) string
		other  bool // kernels with other names are accepted, and marked as such
	}{
		{"as recorded", true, nil, false},
		{"names of layers withheld", false, nil, false},
		{"names of kernels withheld", false, func(rank int, name string) string {
			if strings.Contains(name, "nccl") || strings.Contains(name, "all_reduce") {
				return name // without it collectives cannot be recognised
			}
			return fmt.Sprintf("k%d of %d", len(name), rank)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			traces := capture(t, "graphs")
			if c.rename != nil {
				for rank, x := range traces {
					for i := range x.Spans {
						if s := &x.Spans[i]; s.Cat == trace.Kernel {
							s.Name = x.Strings.Intern([]byte(c.rename(rank, x.Strings.Get(s.Name))))
						}
					}
				}
			}
			a := aligned(traces, c.layers)
			find := a.Counterparts()
			var of []map[int32][2]int
			for _, r := range a.Ranks {
				of = append(of, ordinals(r))
			}
			all, right, others := 0, 0, 0
			for rank, r := range a.Ranks {
				for op := range r.Ops {
					want, ok := of[rank][int32(op)]
					if !ok {
						continue
					}
					for _, p := range find.Of(rank, int32(op)) {
						all++
						if p.Op >= 0 && of[p.Rank][p.Op] == want {
							right++
						}
						if p.Other {
							others++
						}
					}
				}
			}
			t.Logf("%d of %d counterparts are right, %d of other kernels", right, all, others)
			if all < 15_000 || float64(right) < 0.999*float64(all) {
				t.Errorf("got %d right counterparts of %d, want at least 99.9 %% of 15,000 or more", right, all)
			}
			if (others > all/2) != c.other {
				t.Errorf("got %d of %d counterparts marked as other kernels, want most: %v", others, all, c.other)
			}
		})
	}
}

// TestCounterpartRemoved removes kernels from one rank, one at a time: they have no counterpart there, and all others
// keep theirs.
func TestCounterpartRemoved(t *testing.T) {
	whole := aligned(capture(t, "graphs"), true)
	pairs := whole.Counterparts()
	r := whole.Ranks[2]
	tried := 0
	for op := range r.Ops {
		o := &r.Ops[op]
		// A step in the middle; a kernel next to one of the same name cannot be distinguished from it.
		if o.Step != 5 || o.Comm() || o.Cat != trace.Kernel || op == 0 || op+1 == len(r.Ops) || r.Ops[op-1].Name == o.Name || r.Ops[op+1].Name == o.Name {
			continue
		}
		if tried++; tried%5 != 0 {
			continue
		}
		traces := capture(t, "graphs")
		traces[2].Spans = slices.Delete(traces[2].Spans, int(o.Span), int(o.Span)+1)
		cut := aligned(traces, true)
		find := cut.Counterparts()
		wrong := 0
		for at := range cut.Ranks[0].Ops {
			mine := &cut.Ranks[0].Ops[at]
			if mine.Step != o.Step {
				continue
			}
			p, want := find.Of(0, int32(at))[1], pairs.Of(0, int32(at))[1].Op
			switch {
			case want == int32(op):
				if p.Op >= 0 || p.Why != match.NoSuch {
					t.Errorf("op %d was removed: got counterpart %+v, want none", op, p)
				}
			case p.Op < 0 || cut.Ranks[2].Ops[p.Op].Start != r.Ops[want].Start:
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("without op %d: %d other ops have the wrong counterpart", op, wrong)
		}
	}
	if tried < 50 {
		t.Errorf("removed %d kernels, want at least 50", tried)
	}
}

// TestCounterpartExtra: if a rank runs more kernels than the others, exactly the surplus has no counterpart in each
// step, and all kernels of the others have one on it.
func TestCounterpartExtra(t *testing.T) {
	a := aligned(capture(t, "compute_skew"), true)
	find := a.Counterparts()
	for step := 8; step < 14; step++ {
		for rank, want := range map[int]int{0: 0, 2: a.Ranks[2].Steps[step].Kernels - a.Ranks[0].Steps[step].Kernels} {
			alone := 0
			for op := range a.Ranks[rank].Ops {
				if o := &a.Ranks[rank].Ops[op]; int(o.Step) == step && o.Cat == trace.Kernel {
					other := 0 // in the list without the rank itself: rank 0, for rank 2
					if rank == 0 {
						other = 1 // rank 2
					}
					if p := find.Of(rank, int32(op))[other]; p.Op < 0 {
						alone++
					} else if a.Ranks[p.Rank].Ops[p.Op].Name != o.Name {
						t.Errorf("step %d: the counterpart of op %d of rank %d is another kernel", step, op, rank)
					}
				}
			}
			if alone != want || rank == 2 && want < 50 {
				t.Errorf("step %d: got %d kernels of rank %d without a counterpart, want %d", step, alone, rank, want)
			}
		}
	}
}

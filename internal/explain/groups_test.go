package explain_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

const allGather = "ncclDevKernel_AllGather_RING_LL"

// layered builds the graph-replayed decode steps of four ranks in two pairs. In each of three layers, a pair
// all-reduces on its own; then, if joined, all four gather. If uneven, the second pair begins its steps sooner or later
// by turns. late returns the ns added to a rank's first kernel of a layer in a step. No groups are recorded, as in
// graphs.
func layered(steps int, joined, uneven bool, late func(rank, step int) int64) []*trace.Trace {
	toys := make([]*toytrace.Toy, 4)
	for i := range toys {
		toys[i] = toytrace.New()
	}
	free := make([]int64, 4) // end of the device's work so far
	wander := []int64{0, 37_000, 5_000, 61_000, 22_000, 44_000, 13_000}
	for n := range steps {
		corr := make([]int64, 4)
		for i, y := range toys {
			at := int64(n)*2_000_000 + int64(n+1)*150_000*int64(i/2)*int64(1-explaintest.BoolInt(joined))/int64(steps)
			free[i] = max(free[i], at) + 5_000
			if i >= 2 && uneven {
				free[i] += wander[n%len(wander)]
			}
			y.Step(at, at+1_900_000)
			corr[i] = y.Launch("cudaGraphLaunch", at+10, at+900)
		}
		kernel := func(i int, name string, ns int64) {
			toys[i].Op(trace.Kernel, name, corr[i], 1, free[i], free[i]+ns, 8)
			free[i] += ns
		}
		collective := func(name string, ranks ...int) {
			last := int64(0)
			for _, i := range ranks {
				last = max(last, free[i])
			}
			for _, i := range ranks {
				kernel(i, name, last+10_000-free[i])
			}
		}
		for range 3 {
			for i := range toys {
				kernel(i, "gemm", 20_000+late(i, n))
			}
			collective(toytrace.AllReduce, 0, 1)
			collective(toytrace.AllReduce, 2, 3)
			for i := range toys {
				kernel(i, "moe", 30_000)
			}
			if joined {
				collective(allGather, 0, 1, 2, 3)
			}
		}
	}
	ts := make([]*trace.Trace, 4)
	for i, y := range toys {
		ts[i] = y.Done()
		ts[i].Source.Rank = trace.Rank{TP: i, DP: i / 2, PP: -1, EP: -1}
		ts[i].Source.World = trace.World{Known: true, Rank: i, Size: 4}
	}
	return ts
}

// TestGroupsInGraphs separates the unrecorded groups of replayed collectives: data-parallel attention, and replicas in
// one world.
func TestGroupsInGraphs(t *testing.T) {
	none := func(int, int) int64 { return 0 }
	slow := func(rank, step int) int64 {
		if rank == 3 && step >= 6 {
			return 80_000
		}
		return 0
	}
	for _, c := range []struct {
		name    string
		joined  bool
		even    bool
		late    func(int, int) int64
		want    []string
		cost    int64 // ns per step
		matched map[string]int
	}{
		{"separate attention, joint experts", true, false, slow, []string{"rank 3 device 6-13"}, 240_000, map[string]int{"AllReduce": 2 * 3 * 14, "AllGather": 3 * 14}},
		{"one pair always has more work, by the same amount", true, true, func(rank, _ int) int64 { return int64(rank / 2 * 100_000) },
			[]string{"device 0-13"}, 300_000, map[string]int{"AllReduce": 2 * 3 * 14, "AllGather": 3 * 14}},
		{"replicas", false, false, slow, []string{"rank 3 device 6-13"}, 240_000, map[string]int{"AllReduce": 2 * 3 * 14}},
		{"replicas, balanced", false, false, none, nil, 0, map[string]int{"AllReduce": 2 * 3 * 14}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := explaintest.Analyzed(t, layered(14, c.joined, !c.even, c.late))
			if got := explaintest.Stragglers(r); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q%s", got, c.want, explaintest.Describe(r))
			}
			for _, f := range r.Findings {
				if f.Kind == result.Straggler && explaintest.Abs(f.CostNSPerStep-c.cost) > c.cost/10 {
					t.Errorf("%s costs %d ns a step, want %d", explaintest.Brief(f), f.CostNSPerStep, c.cost)
				}
			}
			matched := map[string]int{}
			for _, row := range r.Collectives {
				matched[row.Op] += row.Matched
			}
			if fmt.Sprint(matched) != fmt.Sprint(c.matched) {
				t.Errorf("got matched collectives %v, want %v%s", matched, c.matched, explaintest.Describe(r))
			}
			for _, row := range r.Ranks {
				if row.ShiftNS != 0 {
					t.Errorf("the clock of %s is shifted by %d ns, want 0", row.Name, row.ShiftNS)
				}
			}
		})
	}
}

// TestSharedAttention has ranks of two DP coordinates in one group, by the arguments of their prefill or, without it,
// by their world.
func TestSharedAttention(t *testing.T) {
	dir := explaintest.DirOf(t, "7-TP-0-DP-0.trace.json", explaintest.TextOf(t, "graph_work", 0), "7-TP-1-DP-1.trace.json", explaintest.TextOf(t, "graph_work", 1))
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(dir)))
	if got := explaintest.Stragglers(r); !slices.Equal(got, []string{"rank 1 work 6-14"}) {
		t.Errorf("with prefill: got %q, want rank 1 work 6-14%s", got, explaintest.Describe(r))
	}
	ts := explaintest.ReadDir(t, dir)
	for i := range ts {
		ts[i] = explaintest.DropSteps(ts[i], func(n, _ int) bool { return n == 0 })
	}
	r = explaintest.Analyzed(t, ts)
	if got := explaintest.Stragglers(r); !slices.Equal(got, []string{"rank 1 work 5-13"}) {
		t.Errorf("replays alone: got %q, want rank 1 work 5-13%s", got, explaintest.Describe(r))
	}
}

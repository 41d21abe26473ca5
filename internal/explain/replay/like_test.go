package replay

import (
	"reflect"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// threads returns a graph of the main threads of two ranks between two launches. Each thread has a time before and after it
// arrives at a host collective; met says which threads take part.
func threads(times [2][2]int64, met [2]bool) *Graph {
	g := &Graph{domain: &match.Domain{Ranks: make([]*match.Rank, 2)}, End: 2}
	for r := range int32(2) {
		before := int32(none)
		add := func(step, ref int32, dur int64) {
			n := newNode(Host, r, 0, dur)
			n.step, n.ref, n.from[0] = step, ref, before
			before = int32(len(g.nodes))
			g.nodes = append(g.nodes, n)
		}
		add(0, 0, 5)
		add(none, none, times[r][0])
		if met[r] {
			g.met = append(g.met, before)
		}
		add(none, none, times[r][1])
		add(1, 1, 5)
	}
	return g
}

// TestParts checks that the time of a host between steps is compared in the parts that host collectives divide: a sleep
// after the collective goes, even if the other rank takes as long before it.
func TestParts(t *testing.T) {
	both := [2]bool{true, true}
	for name, c := range map[string]struct {
		times [2][2]int64
		met   [2]bool
		want  Change // of rank 1
	}{
		"sleeps after the collective": {[2][2]int64{{400, 100}, {100, 400}}, both, Change{{6, 100, 0}}},
		"sleeps before it":            {[2][2]int64{{100, 400}, {400, 100}}, both, Change{{5, 100, 0}}},
		"takes as long":               {[2][2]int64{{400, 100}, {400, 100}}, both, nil},
		"no collective":               {[2][2]int64{{400, 100}, {100, 900}}, [2]bool{}, Change{{5, 50, 0}, {6, 450, 0}}},
		"only one rank's is recorded": {[2][2]int64{{400, 100}, {100, 900}}, [2]bool{false, true}, Change{{5, 50, 0}, {6, 450, 0}}},
	} {
		got, ok := threads(c.times, c.met).As(&prep.Names{}, Blame{Why: ByHost, Ranks: []int{1}, Steps: []int{1}})
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

package replay

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/match"
)

// randomGraph has three ranks with hosts and devices, and occasional collectives, whose recorded times follow from
// their durations and lags.
func randomGraph(rng *rand.Rand) *Graph {
	const ranks, steps = 3, 3
	g := &Graph{domain: &match.Domain{Ranks: make([]*match.Rank, ranks)}, End: steps}
	host, dev := make([]int32, ranks), make([]int32, ranks)
	for r := range ranks {
		host[r], dev[r] = none, none
	}
	add := func(n node, froms ...int32) int32 {
		n.from, n.key = [3]int32{none, none, none}, none
		ready := int64(math.MinInt64)
		k := 0
		for _, f := range froms {
			if f != none {
				n.from[k], n.lag[k] = f, int32(rng.IntN(25))
				ready = max(ready, g.nodes[f].at+int64(n.lag[k]))
				k++
			}
		}
		if n.what == Meet {
			for _, f := range g.meets[n.ref] {
				ready = max(ready, g.nodes[f].at)
			}
		}
		if ready == math.MinInt64 {
			ready = int64(rng.IntN(20))
		}
		n.at = ready + n.gap + n.dur
		if n.what != Meet {
			n.ref = int32(len(g.nodes))
		}
		g.order = append(g.order, int32(len(g.nodes)))
		g.nodes = append(g.nodes, n)
		return int32(len(g.nodes) - 1)
	}
	for step := range int32(steps) {
		for range 1 + rng.IntN(2) {
			for r := range int32(ranks) {
				host[r] = add(node{what: Host, rank: r, step: step, dur: int64(rng.IntN(60))}, host[r])
				dev[r] = add(node{what: Work, rank: r, step: step, dur: int64(1 + rng.IntN(40)), gap: int64(rng.IntN(2) * rng.IntN(9))}, host[r], dev[r])
			}
			if rng.IntN(2) == 0 {
				continue
			}
			var arrivals []int32
			for r := range int32(ranks) {
				arrivals = append(arrivals, add(node{what: Arrive, rank: r, step: step}, dev[r]))
			}
			g.meets = append(g.meets, arrivals)
			meet := add(node{what: Meet, rank: none, step: step, ref: int32(len(g.meets) - 1)})
			for r := range int32(ranks) {
				dev[r] = add(node{what: Leave, rank: r, step: step, dur: int64(1 + rng.IntN(9))}, meet)
				g.nodes[dev[r]].at -= int64(g.nodes[dev[r]].lag[0])
				g.nodes[dev[r]].lag[0] = 0
			}
		}
	}
	return g
}

// longest tries all paths to a node and returns the end of the longest.
func longest(g *Graph, at int32) int64 {
	n := &g.nodes[at]
	best, any := int64(math.MinInt64), false
	try := func(from int32, lag int64) {
		if from != none {
			best, any = max(best, longest(g, from)+lag), true
		}
	}
	for k, from := range n.from {
		try(from, int64(n.lag[k]))
	}
	if n.what == Meet {
		for _, from := range g.meets[n.ref] {
			try(from, 0)
		}
	}
	if !any {
		best = n.start() - n.gap
	}
	return best + n.gap + n.dur
}

// longestWays returns all longest paths to a node, each as the time of its nodes, including the time before them, after
// the given moment.
func longestWays(g *Graph, at int32, after int64) (out []map[int32]int64) {
	n, end := &g.nodes[at], longest(g, at)
	if end <= after {
		return []map[int32]int64{{}}
	}
	first := true
	try := func(from int32, lag int64) {
		if from == none {
			return
		}
		first = false
		begun := longest(g, from)
		if begun+lag+n.gap+n.dur != end {
			return
		}
		for _, way := range longestWays(g, from, after) {
			if ns := end - max(begun, after); ns > 0 {
				way[at] += ns
			}
			out = append(out, way)
		}
	}
	for k, from := range n.from {
		try(from, int64(n.lag[k]))
	}
	if n.what == Meet {
		for _, from := range g.meets[n.ref] {
			try(from, 0)
		}
	}
	if first {
		return []map[int32]int64{{at: end - after}}
	}
	return out
}

// longestWaysOf returns the longest paths to the end of a step.
func longestWaysOf(g *Graph, step int, after int64) (out []map[int32]int64) {
	for i := range g.nodes {
		if n := &g.nodes[i]; n.ends() && int(n.step) == step && n.at == g.Recorded()[step] {
			out = append(out, longestWays(g, int32(i), after)...)
		}
	}
	return out
}

// TestAgainstAllWays: on random graphs, Run ends each step with the longest of all paths, and a step's critical path is
// one of the longest, with pieces that sum to it.
func TestAgainstAllWays(t *testing.T) {
	for seed := range uint64(300) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 1)))
		ends, want := g.Run(nil), make([]int64, g.End)
		for i := range g.nodes {
			if n := &g.nodes[i]; n.ends() {
				want[n.step] = max(want[n.step], longest(g, int32(i)))
			}
		}
		sums, ways := make([]int64, g.End), make([]map[int32]int64, g.End)
		for step := range ways {
			ways[step] = map[int32]int64{}
		}
		g.Path(func(p *Piece) {
			sums[p.Step] += p.NS
			ways[p.Step][int32(max(p.Node.Op, p.Node.Call))] += p.NS
		}, func(_, rank, before int, ns int64) {
			if rank == before || ns < 0 {
				t.Errorf("seed %d: the critical path gives rank %d as last, %d ns after rank %d", seed, rank, ns, before)
			}
		})
		times := g.Times(g.Recorded())
		for step := range ends {
			if ends[step] != want[step] {
				t.Errorf("seed %d, step %d: got end %d, want %d", seed, step, ends[step], want[step])
			}
			if times[step] > 0 && sums[step] != times[step] {
				t.Errorf("seed %d, step %d takes %d ns, but its critical path sums to %d", seed, step, times[step], sums[step])
			}
			if times[step] > 0 && !slices.ContainsFunc(longestWaysOf(g, step, ends[step]-times[step]), func(way map[int32]int64) bool { return maps.Equal(way, ways[step]) }) {
				t.Errorf("seed %d: the critical path of step %d is not one of the longest paths: %v", seed, step, ways[step])
			}
		}
	}
}

// TestChanges: a change has the same effect as a graph with changed durations, and two changes of a node multiply.
func TestChanges(t *testing.T) {
	for seed := range uint64(100) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 2)))
		half := func(n Node) float64 {
			if n.Rank == 1 && n.What == Work {
				return 0.5
			}
			return 1
		}
		once := g.Scale(half)
		twice := g.Both(once, once)
		changed := &Graph{domain: g.domain, nodes: slices.Clone(g.nodes), order: g.order, meets: g.meets, First: g.First, End: g.End}
		for i := range changed.nodes {
			if n := &changed.nodes[i]; n.rank == 1 && n.what == Work {
				n.dur, n.gap = n.dur/2, n.gap/2
			}
		}
		a, b := g.Run(once), changed.Run(nil)
		for step := range a {
			if a[step] != b[step] {
				t.Fatalf("seed %d: step %d ends at %d with a change, want %d as in the changed graph", seed, step, a[step], b[step])
			}
		}
		for _, x := range twice {
			if n := &g.nodes[x.node]; x.dur > n.dur/4+1 {
				t.Fatalf("seed %d: halving %d ns twice gives %d", seed, n.dur, x.dur)
			}
		}
	}
}

// TestSet: ops with their recorded times change nothing, other times have the effect of a graph with these times, and
// without an op no step ends later.
func TestSet(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		g := randomGraph(rng)
		for i := range g.nodes {
			if n := &g.nodes[i]; n.what == Work || n.what == Leave {
				n.ref = int32(i)
			}
		}
		was := g.Run(nil)
		if same := g.Run(g.Set(func(_, op int) (int64, bool) { return g.nodes[op].dur, g.nodes[op].dur > 0 })); !slices.Equal(same, was) {
			t.Fatalf("seed %d: recorded times give %v, want %v", seed, same, was)
		}
		at := -1
		for i := range g.nodes {
			if n := &g.nodes[i]; n.what == Work && n.dur > 1 {
				at = i
			}
		}
		if at < 0 {
			continue
		}
		one := func(ns int64) Change {
			return g.Set(func(_, op int) (int64, bool) { return ns, op == at })
		}
		changed := &Graph{domain: g.domain, nodes: slices.Clone(g.nodes), order: g.order, meets: g.meets, First: g.First, End: g.End}
		changed.nodes[at].dur = 1
		if got, want := g.Run(one(1)), changed.Run(nil); !slices.Equal(got, want) {
			t.Fatalf("seed %d: an op of 1 ns gives %v, want %v", seed, got, want)
		}
		without := g.Run(one(0))
		for step := range was {
			if without[step] > was[step] {
				t.Fatalf("seed %d: step %d ends at %d without an op, at %d with it", seed, step, without[step], was[step])
			}
		}
	}
}

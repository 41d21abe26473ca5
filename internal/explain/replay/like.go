package replay

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// Why is a removable cause: the aspect of a rank that is changed to be like that of its peers.
type Why uint8

const (
	ByWork     Why = iota // kernels that others run less often or with other grids, and launches of these kernels
	ByDevice              // time of equal kernels, and delays of their starts
	ByHost                // host time for equal launches
	ByTransfer            // time to leave collectives
	ByAll                 // all causes above
)

// Blame describes a difference between ranks, or between steps, that is to be removed.
type Blame struct {
	Why   Why
	Ranks []int // indices in the domain's ranks
	Steps []int // in the capture's numbering
	// Like holds the steps of the same rank with which Steps are compared. If it is nil, ranks are compared with the
	// other ranks in the same step.
	Like []int
}

// places holds a value by rank and step.
type places[T any] [][]T

func newPlaces[T any](ranks int) places[T] { return make(places[T], ranks) }

// at returns the value of a rank and step, or the zero value if none was set.
func (p places[T]) at(rank, step int) (of T) {
	if step >= 0 && step < len(p[rank]) {
		of = p[rank][step]
	}
	return of
}

func (p places[T]) set(rank, step int, of T) {
	if more := step + 1 - len(p[rank]); more > 0 {
		p[rank] = append(p[rank], make([]T, more)...)
	}
	p[rank][step] = of
}

// tally is the total of the nodes with one key, for one rank and step.
type tally struct {
	ns, n int64
	grids int64 // hash of the grids, equal for the same grids with the same frequencies
}

// tallied is the key of a tally: a kind of node, the name of a kernel, and the number of collectives before it in the
// step. It is a single number so that frequent lookups are fast.
type tallied int64

func talliedOf(what What, name, place int32) tallied {
	return tallied(place)<<40 | tallied(uint32(name))<<8 | tallied(what)
}

func (t tallied) what() What  { return What(t) }
func (t tallied) name() int32 { return int32(t >> 8) }

type tallies map[tallied]*tally

// towards returns the step to which each node counts, or none. Device work counts to its own step or, outside of steps,
// to the next step. Host work counts to the step of the thread's next launch, since it delays that step.
func (g *Graph) towards() []int32 {
	out := make([]int32, len(g.nodes))
	next := make([]int32, len(g.domain.Ranks))
	for i := range next {
		next[i] = none
	}
	for _, i := range slices.Backward(g.order) { // in the order of their ends, from the last
		n := &g.nodes[i]
		if out[i] = n.step; n.what == Meet || n.host() {
			continue
		}
		if n.step >= 0 {
			next[n.rank] = n.step
		} else {
			out[i] = next[n.rank]
		}
	}
	launches := int32(none) // step of the current thread's next launch; a thread's nodes are consecutive in g.nodes
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := &g.nodes[i]
		if !n.host() {
			continue
		}
		if i+1 == len(g.nodes) || !g.nodes[i+1].host() || g.nodes[i+1].from[0] != int32(i) {
			launches = none
		}
		if n.ref != none && n.step >= 0 {
			launches = n.step
		}
		out[i] = launches
	}
	return out
}

// passed returns, for each node of a device, the number of collectives of several ranks before it in its step. last
// holds that number for each rank at the end of each step.
func (g *Graph) passed() (out []int32, last places[int32]) {
	out, last = make([]int32, len(g.nodes)), newPlaces[int32](len(g.domain.Ranks))
	for i := range g.nodes {
		n, step := &g.nodes[i], int(g.to[i])
		if step < 0 || n.what != Work && n.what != Leave {
			continue
		}
		out[i] = last.at(int(n.rank), step)
		if n.what == Leave {
			last.set(int(n.rank), step, out[i]+1)
		}
	}
	return out, last
}

// parts returns, for each node of a thread between steps, the number of host collectives at which the thread has arrived
// since its last launch. The collectives divide this time: what one rank does before them cannot be compared with what
// another rank does after them. The number is 0 if the ranks do not have the same collectives before a step.
func (g *Graph) parts() []int32 {
	out, last := make([]int32, len(g.nodes)), newPlaces[int32](len(g.domain.Ranks))
	k := 0
	for i := range g.nodes {
		n, step := &g.nodes[i], int(g.to[i])
		between := n.host() && step >= 0 && n.step != g.to[i]
		if between {
			out[i] = last.at(int(n.rank), step)
		}
		if k < len(g.met) && g.met[k] == int32(i) {
			if k++; between {
				last.set(int(n.rank), step, out[i]+1)
			}
		}
	}
	same := map[int32]bool{} // by step
	for i, part := range out {
		if part == 0 {
			continue
		}
		is, known := same[g.to[i]]
		if !known {
			is = g.same(last, int(g.to[i]))
			same[g.to[i]] = is
		}
		if !is {
			out[i] = 0
		}
	}
	return out
}

// same reports whether a number of a step is the same for all ranks.
func (g *Graph) same(of places[int32], step int) bool {
	for r := range g.domain.Ranks {
		if of.at(r, step) != of.at(0, step) {
			return false
		}
	}
	return true
}

// host reports whether n is a moment of a host thread.
func (n *node) host() bool { return n.what == Host || n.what == Return }

// between replaces the kernel name in the key for all host work between the previous step and a step, because
// schedulers do not do the same work in the same order on each rank.
const between = -2

// talliedAs returns the key of the tally to which a node adds. place holds the place of each node in its step, part its part
// of the time between steps; nil: it does not matter.
func (g *Graph) talliedAs(names *prep.Names, i int32, n *node, place, part []int32) tallied {
	switch {
	case n.host() && n.step != g.to[i] && part != nil:
		return talliedOf(Host, between, part[i])
	case n.host() && n.step != g.to[i]:
		return talliedOf(Host, between, 0)
	case n.what == Work && place != nil:
		return talliedOf(Work, nameOf(names, n.key), place[i])
	}
	return talliedOf(n.what, nameOf(names, n.key), 0)
}

// tallies adds up the times of nodes by rank, by the step to which each node counts, and by key. Gaps are included.
func (g *Graph) tallies(names *prep.Names, place, part []int32) places[tallies] {
	out := newPlaces[tallies](len(g.domain.Ranks))
	for i := range g.nodes {
		n, step := &g.nodes[i], int(g.to[i])
		if step < 0 || n.what == Meet {
			continue
		}
		of := out.at(int(n.rank), step)
		if of == nil {
			of = tallies{}
			out.set(int(n.rank), step, of)
		}
		k := g.talliedAs(names, int32(i), n, place, part)
		t := of[k]
		if t == nil {
			t = &tally{}
			of[k] = t
		}
		t.ns += n.dur + n.gap
		t.n++
		t.grids += (int64(n.key) + 1) * 0x9e3779b1 % 1_000_003
	}
	return out
}

func nameOf(names *prep.Names, key int32) int32 {
	if key == none {
		return none
	}
	return names.Keys[key].Name
}

// As returns the change that makes b.Ranks in b.Steps like the other ranks. If b.Like is set, the change makes them
// like other steps of the same ranks. It compares the total of each kernel name with the median of the totals of those
// ranks or steps. For more work than other ranks have, it compares the totals between two collectives, if all these
// ranks have the same number of collectives in the steps: otherwise a part of the work would remain in its place and
// other work would become shorter instead. ok is false if there are no such ranks or steps.
func (g *Graph) As(names *prep.Names, b Blame) (change Change, ok bool) {
	g.tallied.Do(func() {
		g.to = g.towards()
		g.place, g.last = g.passed()
		g.sums, g.placed = g.tallies(names, nil, nil), g.tallies(names, g.place, nil)
		g.parted = g.sums
		if len(g.met) > 0 {
			g.part = g.parts()
			g.parted = g.tallies(names, nil, g.part)
		}
	})
	sums, place, part := g.sums, []int32(nil), []int32(nil)
	switch {
	case b.Why == ByWork && b.Like == nil && !slices.ContainsFunc(b.Steps, func(s int) bool { return !g.same(g.last, s) }):
		sums, place = g.placed, g.place
	case b.Why == ByHost && b.Like == nil:
		sums, part = g.parted, g.part
	}
	factors := newPlaces[map[tallied]float64](len(g.domain.Ranks))
	parallel.Each(len(b.Ranks), func(i int) {
		rank := b.Ranks[i]
		for _, step := range b.Steps {
			if own, others := sums.at(rank, step), g.others(sums, b, rank, step); own != nil && len(others) > 0 {
				factors.set(rank, step, factorsOf(own, others, b.Why, names))
			}
		}
	})
	ok = slices.ContainsFunc(factors, func(of []map[tallied]float64) bool { return of != nil })
	return g.scale(func(i int32, n *node) float64 {
		if of := factors.at(int(n.rank), int(g.to[i])); of != nil {
			if f, known := of[g.talliedAs(names, i, n, place, part)]; known {
				return f
			}
		}
		return 1
	}), ok
}

// others returns the tallies with which the tallies of a rank in a step are compared.
func (g *Graph) others(sums places[tallies], b Blame, rank, step int) (out []tallies) {
	for _, s := range b.Like {
		if t := sums.at(rank, s); t != nil {
			out = append(out, t)
		}
	}
	if b.Like != nil {
		return out
	}
	for r := range g.domain.Ranks {
		if t := sums.at(r, step); t != nil && !slices.Contains(b.Ranks, r) {
			out = append(out, t)
		}
	}
	return out
}

// factorsOf returns the factors by which times are multiplied to remove a cause.
func factorsOf(own tallies, others []tallies, why Why, names *prep.Names) map[tallied]float64 {
	peers := medians(others)
	// Names that only one side has may stand for the same work, done by other kernels.
	var extra, missing int64
	for k, p := range peers {
		if own[k] == nil && k.what() == Work {
			missing += p.ns
		}
	}
	for k, t := range own {
		if peers[k].n == 0 && k.what() == Work {
			extra += t.ns
		}
	}
	out := map[tallied]float64{}
	for k, t := range own {
		if t.ns == 0 {
			continue
		}
		p := peers[k]
		ratio := float64(p.ns) / float64(t.ns)
		each := ratio // ratio of the mean times of one run, independent of the number of runs
		if p.n > 0 {
			each = ratio * float64(t.n) / float64(p.n)
		}
		alone := p.n == 0
		switch by := causeOf(k.what()); {
		case k.name() == between:
			// Much of this time may be waits that traces do not show. A factor above 1 would add such waits to this
			// rank.
			if why == ByHost || why == ByAll {
				out[k] = min(1, ratio)
			}
		case why == ByAll && alone && k.what() == Work, why == ByWork && alone && k.what() == Work:
			out[k] = float64(min(missing, extra)) / float64(extra)
		case why == ByAll:
			out[k] = ratio
		case why == ByWork && k.what() == Host && k.name() != none:
			out[k] = min(1, float64(p.n)/float64(t.n))
		case why == ByWork && k.what() == Work && (p.n != t.n || p.grids != t.grids || dependent(names, k.name())):
			out[k] = ratio
		case why == by && !alone:
			out[k] = each
		}
	}
	return out
}

// causeOf returns the cause to which the time of a node of the given kind counts.
func causeOf(w What) Why {
	switch w {
	case Host, Return:
		return ByHost
	case Leave:
		return ByTransfer
	}
	return ByDevice
}

// dependent reports whether a kernel's time depends on data and not only on its grid.
func dependent(names *prep.Names, name int32) bool {
	return name != none && kernel.DataDependent(names.Class[name])
}

// medians returns the medians over several tallies for each key. The grids are taken from a tally with the median
// number of runs.
func medians(of []tallies) map[tallied]tally {
	out := map[tallied]tally{}
	for _, m := range of {
		for k := range m {
			out[k] = tally{}
		}
	}
	ns, n := make([]int64, len(of)), make([]int64, len(of))
	for k := range out {
		for i, m := range of {
			ns[i], n[i] = 0, 0
			if t := m[k]; t != nil {
				ns[i], n[i] = t.ns, t.n
			}
		}
		t := tally{ns: int64(metric.MedianInPlace(ns)), n: int64(metric.MedianInPlace(n))}
		for _, m := range of {
			if m[k] != nil && m[k].n == t.n {
				t.grids = m[k].grids
			}
		}
		out[k] = t
	}
	return out
}

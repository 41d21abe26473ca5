package replay

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// Why is a cause that can be taken away: what of a rank becomes as it is elsewhere.
type Why uint8

const (
	ByWork     Why = iota // kernels that others have fewer of, or with other grids, and their launches
	ByDevice              // how long the same kernels take, or begin later than they could
	ByHost                // how long the host takes for the same launches
	ByTransfer            // how long the rank takes to leave collectives
	ByAll                 // all of it
)

// A Blame is what is to be as elsewhere.
type Blame struct {
	Why   Why
	Ranks []int // of the domain
	Steps []int // in the capture's numbering
	// Like are the steps of the same rank that it is to be like; none: as other ranks in the
	// same step.
	Like []int
}

// places has something for each rank and step.
type places[T any] [][]T

func newPlaces[T any](ranks int) places[T] { return make(places[T], ranks) }

// at is what a rank has in a step; nil where nothing was set.
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

// tally is what a place has of one name.
type tally struct {
	ns, n int64
	grids int64 // the same for the same grids, each as often
}

// tallied is what is tallied: hosts, devices and transfers by the kernel's name. One number, for it is looked up often.
type tallied int64

func talliedOf(what What, name int32) tallied { return tallied(name)<<8 | tallied(what) }

func (t tallied) what() What  { return What(t) }
func (t tallied) name() int32 { return int32(t >> 8) }

type tallies map[tallied]*tally

// towards is the step that each node counts to: what a device does to its own step, or to the one it comes before; what a
// host does to the step that it launches next, since it is that which it holds up; none: no such step comes.
func (g *Graph) towards() []int32 {
	out := make([]int32, len(g.nodes))
	next := make([]int32, len(g.domain.Ranks))
	for i := range next {
		next[i] = none
	}
	for _, i := range slices.Backward(g.order) { // by their ends
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
	launches := int32(none) // the step of the next launch of a thread, whose nodes follow each other
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

// host tells a moment of a host thread.
func (n *node) host() bool { return n.what == Host || n.what == Return }

// between stands for the name of a kernel of what hosts do before a step, from the one before:
// all of it together, for schedulers do not do the same on each rank in the same order.
const between = -2

// talliedAs is what a node is tallied as.
func (g *Graph) talliedAs(names *prep.Names, i int32, n *node) tallied {
	if n.host() && n.step != g.to[i] {
		return talliedOf(Host, between)
	}
	return talliedOf(n.what, nameOf(names, n.key))
}

// tallies adds up what ranks do in steps, and their devices before each. Gaps count.
func (g *Graph) tallies(names *prep.Names) places[tallies] {
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
		k := g.talliedAs(names, int32(i), n)
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

// As gives the change by which ranks are in some steps as others are, or as they were. It
// compares by kernel: what there is of each name, with the median of the others. ok is
// false if there is nothing to compare with.
func (g *Graph) As(names *prep.Names, b Blame) (change Change, ok bool) {
	g.tallied.Do(func() {
		g.to = g.towards()
		g.sums = g.tallies(names)
	})
	factors := newPlaces[map[tallied]float64](len(g.domain.Ranks))
	parallel.Each(len(b.Ranks), func(i int) {
		rank := b.Ranks[i]
		for _, step := range b.Steps {
			if own, others := g.sums.at(rank, step), g.others(b, rank, step); own != nil && len(others) > 0 {
				factors.set(rank, step, factorsOf(own, others, b.Why, names))
			}
		}
	})
	ok = slices.ContainsFunc(factors, func(of []map[tallied]float64) bool { return of != nil })
	return g.scale(func(i int32, n *node) float64 {
		if of := factors.at(int(n.rank), int(g.to[i])); of != nil {
			if f, known := of[g.talliedAs(names, i, n)]; known {
				return f
			}
		}
		return 1
	}), ok
}

// others are what a rank in a step is to be like.
func (g *Graph) others(b Blame, rank, step int) (out []tallies) {
	for _, s := range b.Like {
		if t := g.sums.at(rank, s); t != nil {
			out = append(out, t)
		}
	}
	if b.Like != nil {
		return out
	}
	for r := range g.domain.Ranks {
		if t := g.sums.at(r, step); t != nil && !slices.Contains(b.Ranks, r) {
			out = append(out, t)
		}
	}
	return out
}

// factorsOf gives by what times are to be multiplied to be without a cause.
func factorsOf(own tallies, others []tallies, why Why, names *prep.Names) map[tallied]float64 {
	peers := medians(others)
	// Names that only one side has may be the same work by other kernels.
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
		each := ratio // of one, whatever their number
		if p.n > 0 {
			each = ratio * float64(t.n) / float64(p.n)
		}
		alone := p.n == 0
		switch by := causeOf(k.what()); {
		case k.name() == between:
			// Much of it may be waiting that no trace shows, which no other rank is to have.
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

// causeOf is the cause that what a node takes counts to.
func causeOf(w What) Why {
	switch w {
	case Host, Return:
		return ByHost
	case Leave:
		return ByTransfer
	}
	return ByDevice
}

// dependent tells kernels whose time depends on data, and not on their grids alone.
func dependent(names *prep.Names, name int32) bool {
	return name != none && kernel.DataDependent(names.Class[name])
}

// medians are of each name over several places; the grids are those of a place that has
// the median number.
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

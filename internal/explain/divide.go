package explain

import (
	"fmt"
	"slices"
)

// Kernels in graphs do not say which ranks they belong to. Most often all
// ranks of a domain run them together. With data-parallel attention, or with
// replicas in one world, the ranks of one DP coordinate run some of them among
// themselves, and pairing those over coordinates would be wrong. Two things
// give it away: ranks leave a collective together, so that its ends do not
// wander against each other; and nobody ends before all have begun.

// apartEnds is how much ends of one collective do not wander from step to
// step, ns.
const apartEnds = 5000

// apartSteps is how many changes it takes to say that ends wander.
const apartSteps = 3

// divide finds the operations whose ends on two DP coordinates wander.
func (d *domain) divide() {
	d.divided = map[string]bool{}
	first := map[int]bool{} // of each DP coordinate
	var ends []map[string]map[place]int64
	for _, r := range d.ranks {
		if dp := r.source.Rank.DP; !first[dp] {
			first[dp] = true
			ends = append(ends, r.endsByPlace())
		}
	}
	for _, other := range ends[min(1, len(ends)):] {
		for op, ref := range ends[0] {
			if wander(ref, other[op]) {
				d.divided[op] = true
			}
		}
	}
}

// redivide finds, after matching, the operations that are impossible though
// others show the clocks to be right. It reports whether there are any.
func (d *domain) redivide() bool {
	type counts struct{ all, broken int }
	by := map[string]counts{} // by operation of those without a group
	var rest counts
	for i := range d.matches {
		m := &d.matches[i]
		if d.ranks[m.at[0].rank].source.Rank.DP == d.ranks[m.at[len(m.at)-1].rank].source.Rank.DP {
			continue
		}
		c := rest
		if m.key == "" {
			c = by[m.op]
		}
		c.all++
		if !m.possible() {
			c.broken++
		}
		if m.key == "" {
			by[m.op] = c
		} else {
			rest = c
		}
	}
	right := func(c counts) bool { return c.all >= movedPairs && c.broken*50 <= c.all }
	sure := right(rest)
	for _, c := range by {
		sure = sure || right(c)
	}
	found := false
	for op, c := range by {
		if sure && c.broken*50 > c.all {
			d.divided[op], found = true, true
		}
	}
	return found
}

// place is where in a capture a collective is: its step, and its number among
// those of its operation there.
type place struct{ step, at int }

// endsByPlace gives the ends of collectives without recorded arguments, by
// operation.
func (r *ranked) endsByPlace() map[string]map[place]int64 {
	out := map[string]map[place]int64{}
	count := map[string]place{}
	for i := range r.ops {
		o := &r.ops[i]
		if !o.comm() || o.step < 0 || r.colls[o.coll].recorded {
			continue
		}
		op := r.colls[o.coll].op
		if out[op] == nil {
			out[op] = map[place]int64{}
		}
		p := count[op]
		if n := int(o.step) + r.first; p.step != n {
			p = place{n, 0}
		}
		out[op][p] = o.end
		p.at++
		count[op] = p
	}
	return out
}

// wander tells whether the difference of two ranks' ends changes from step to
// step, by the median over steps of any place in them.
func wander(a, b map[place]int64) bool {
	change := map[int][]int64{}
	for p, end := range a {
		q := place{p.step + 1, p.at}
		next, ok := a[q]
		other, okOther := b[p]
		otherNext, okNext := b[q]
		if ok && okOther && okNext {
			change[p.at] = append(change[p.at], abs((next-otherNext)-(end-other)))
		}
	}
	for _, c := range change {
		slices.Sort(c)
		if len(c) >= apartSteps && c[len(c)/2] > apartEnds {
			return true
		}
	}
	return false
}

// collective gives the operation and the group of a communication kernel, the
// group told apart by DP coordinate where an operation is divided.
func (d *domain) collective(r *ranked, o *op) (op, group string) {
	c := &r.colls[o.coll]
	if c.group == "" && d.divided[c.op] {
		return c.op, fmt.Sprintf("of DP %d", r.source.Rank.DP)
	}
	return c.op, c.group
}

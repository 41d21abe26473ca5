package match

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// Collectives in graphs do not record the ranks of their group. Most often, all ranks of a domain run them together.
// With data-parallel attention, or with replicas in one process group, the ranks of one DP coordinate run some
// collectives among themselves. Pairing such collectives across DP coordinates would be wrong. Two facts reveal a wrong
// pairing. Ranks leave a collective together, so in a right pairing the difference between the ends on two ranks stays
// constant. And no rank ends a collective before all ranks have begun it.

// apartEnds is the largest change from step to step, in ns, of the difference between the ends of one collective on two
// ranks.
const apartEnds = 5000

// apartSteps is the minimum number of changes to conclude that ends wander.
const apartSteps = 3

// divide finds the operations that the ranks of each DP coordinate run among themselves. The sign of such an operation
// is that the difference between its ends on two DP coordinates wanders.
func (d *Domain) divide() {
	first := map[int]bool{} // DP coordinates that already have a representative rank
	var ends []map[string]map[place]int64
	for _, r := range d.Ranks {
		if dp := r.Source.Rank.DP; !first[dp] {
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

// redivide finds further such operations after matching: operations with impossible collectives, although other
// collectives show that the clocks are right. It reports whether it found any.
func (d *Domain) redivide() bool {
	type counts struct{ all, broken int }
	by := map[string]counts{} // collectives without a recorded group, by operation
	var rest counts
	for i := range d.Matches {
		m := &d.Matches[i]
		if d.Ranks[m.At[0].Rank].Source.Rank.DP == d.Ranks[m.At[len(m.At)-1].Rank].Source.Rank.DP {
			continue
		}
		c := rest
		if m.group == "" {
			c = by[m.Op]
		}
		c.all++
		if !m.Possible() {
			c.broken++
		}
		if m.group == "" {
			by[m.Op] = c
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

// place is the position of a collective in a capture: the step, and the index among the collectives of the same
// operation in that step.
type place struct{ step, at int }

// endsByPlace returns the ends of the collectives without recorded arguments, by operation and place.
func (r *Rank) endsByPlace() map[string]map[place]int64 {
	out := map[string]map[place]int64{}
	count := map[string]place{}
	for i := range r.Ops {
		o := &r.Ops[i]
		if !o.Comm() || o.Step < 0 || r.Colls[o.Coll].Recorded {
			continue
		}
		op := r.Colls[o.Coll].Op
		if out[op] == nil {
			out[op] = map[place]int64{}
		}
		p := count[op]
		if n := int(o.Step) + r.First; p.step != n {
			p = place{n, 0}
		}
		out[op][p] = o.End
		p.at++
		count[op] = p
	}
	return out
}

// wander reports whether the difference between the ends on two ranks changes from step to step. It does if, for any
// index within the step, the median change exceeds apartEnds.
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

// sequence is an operation of one group: all ranks of the group run its collectives in the same order.
type sequence struct{ group, op string }

// sequences numbers the sequences of collectives in which ranks wait for each other. of holds the number by rank and
// collective, or -1 if no rank waits in the collective. If a group was not recorded and the operation is divided, each
// DP coordinate has its own sequence.
func (d *Domain) sequences() (list []sequence, of [][]int32) {
	name := func(r *Rank, c *prep.Collective) sequence {
		if c.Group == "" && d.divided[c.Op] {
			return sequence{fmt.Sprintf("of DP %d", r.Source.Rank.DP), c.Op}
		}
		return sequence{c.Group, c.Op}
	}
	for _, r := range d.Ranks {
		for i := range r.Colls {
			if c := &r.Colls[i]; kernel.Synchronising(c.Op) {
				list = append(list, name(r, c))
			}
		}
	}
	order := func(a, b sequence) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.op, b.op)) }
	sorts.By(list, order)
	list = slices.Compact(list)
	for _, r := range d.Ranks {
		ids := make([]int32, len(r.Colls))
		for i := range ids {
			ids[i] = -1
			if n, ok := slices.BinarySearchFunc(list, name(r, &r.Colls[i]), order); ok {
				ids[i] = int32(n)
			}
		}
		of = append(of, ids)
	}
	return list, of
}

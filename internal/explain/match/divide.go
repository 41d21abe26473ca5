package match

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// Kernels in graphs do not record their ranks. Most often all ranks of a domain run them together. With data-parallel
// attention, or with replicas in one world, the ranks of one DP coordinate run some of them among themselves, and
// pairing those across coordinates would be wrong. Two facts reveal it: ranks leave a collective together, so the
// differences of its ends stay steady; and no rank ends before all have begun.

// apartEnds is the largest change from step to step, in ns, of the differences between the ends of one collective.
const apartEnds = 5000

// apartSteps is the number of changes needed to conclude that ends wander.
const apartSteps = 3

// divide finds the operations whose ends on two DP coordinates wander.
func (d *Domain) divide() {
	first := map[int]bool{} // of each DP coordinate
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

// redivide finds, after matching, the operations that are impossible although others show that the clocks are right. It
// reports whether there are any.
func (d *Domain) redivide() bool {
	type counts struct{ all, broken int }
	by := map[string]counts{} // by operation, without a recorded group
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

// place is the position of a collective in a capture: its step, and its index among those of its operation in the step.
type place struct{ step, at int }

// endsByPlace returns the ends of collectives without recorded arguments, by operation.
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

// wander reports whether the difference of two ranks' ends changes from step to step, by the median over steps of any
// place in them.
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

// sequences numbers the sequences in which ranks wait for each other: of holds the number by rank and collective, -1 if
// no rank waits in it. Unrecorded groups are separated by DP coordinate where the operation is divided.
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
	slices.SortFunc(list, func(a, b sequence) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.op, b.op)) })
	list = slices.Compact(list)
	for _, r := range d.Ranks {
		ids := make([]int32, len(r.Colls))
		for i := range ids {
			ids[i] = int32(slices.Index(list, name(r, &r.Colls[i])))
		}
		of = append(of, ids)
	}
	return list, of
}

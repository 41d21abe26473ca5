package match

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// between identifies a sequence outside of steps by the step that follows, in the capture's numbering. The sequence may
// also be before the first step, or after the last step.
type between struct {
	step     int
	sequence int32
}

// pairOutside matches the collectives outside of steps. Collectives between the same two steps are matched by order. At
// the edges of a window, ranks may have different numbers of collectives. In that case, only the number of collectives
// that all ranks have is matched. These matches are counted but are no evidence of lateness.
func (d *Domain) pairOutside() {
	d.Outside = nil
	list, of := d.sequences()
	ops := make([]map[between][]int32, len(d.Ranks))
	all := map[between]bool{}
	for i, r := range d.Ranks {
		ops[i] = map[between][]int32{}
		for j := range r.Ops {
			o := &r.Ops[j]
			if !o.Comm() || o.Step >= 0 || of[i][o.Coll] < 0 || len(r.Steps) == 0 {
				continue
			}
			k := between{r.First + r.stepsBefore(int32(j)), of[i][o.Coll]}
			ops[i][k] = append(ops[i][k], int32(j))
			all[k] = true
		}
	}
	for _, k := range sorts.Sorted(maps.Keys(all), func(a, b between) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.sequence, b.sequence))
	}) {
		d.matchBetween(k, list[k.sequence], ops)
	}
}

// stepsBefore returns the number of steps that the host had begun when it launched an op.
func (r *Rank) stepsBefore(op int32) int {
	o := &r.Ops[op]
	at := o.Start
	if o.Call >= 0 {
		at = r.Calls[o.Call].Start
	}
	n, _ := slices.BinarySearchFunc(r.Steps, at, func(s prep.Step, at int64) int { return cmp.Compare(s.Start, at) })
	return n
}

// matchBetween pairs the collectives of one sequence. Before the first step of a window, it pairs the collectives from
// the last one backwards. Elsewhere, it pairs them from the first one onwards.
func (d *Domain) matchBetween(k between, s sequence, ops []map[between][]int32) {
	var members []int
	fewest, same, begins, ends := 0, true, false, false
	for i, r := range d.Ranks {
		n := len(ops[i][k])
		if n == 0 {
			continue
		}
		same = same && (len(members) == 0 || n == fewest)
		if len(members) == 0 || n < fewest {
			fewest = n
		}
		members = append(members, i)
		begins, ends = begins || k.step == r.First, ends || k.step == r.First+len(r.Steps)
	}
	if len(members) < 2 || !same && !begins && !ends {
		return
	}
	for n := range fewest {
		m := Match{Op: s.op, group: s.group, Step: -1}
		for _, i := range members {
			r, list := d.Ranks[i], ops[i][k]
			at := list[n]
			if begins {
				at = list[len(list)-fewest+n]
			}
			o := &r.Ops[at]
			m.At = append(m.At, Part{Rank: int32(i), Op: at, Start: r.Wall(o.Start), End: r.Wall(o.End)})
			m.InGraph = m.InGraph || r.InGraph(o)
		}
		if m.Possible() {
			m.close()
			d.Outside = append(d.Outside, m)
		}
	}
}

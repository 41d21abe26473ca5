package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/match"
)

// ownExcess is what a rank computes more in a step than a typical peer.
type ownExcess struct {
	share float64         // by other or larger kernels, over the peer's compute
	slow  map[int32]int64 // ns by which the same kernels took longer, by kernel key
	peer  map[int32]int64 // ns of the peer's kernels, by key
}

// extraWork compares the own work of a rank in a step with that of the peer that has
// the median amount. It compares work alone, whole kernels over whole steps, so neither
// lateness of hosts nor overlap with communication hides or feigns it.
func (d *Domain) extraWork(i, n int) (e ownExcess) {
	mine := d.work[i][n]
	if mine == nil {
		return e
	}
	var peers []*approach
	for j := range d.Ranks {
		if p := d.work[j][n]; j != i && p != nil {
			peers = append(peers, p)
		}
	}
	if len(peers) == 0 {
		return e
	}
	slices.SortStableFunc(peers, func(a, b *approach) int { return cmp.Compare(a.total, b.total) })
	ref := peers[(len(peers)-1)/2]
	if ref.total == 0 {
		return e
	}
	l := lateness{extra: map[int32]extra{}}
	a, b := approach{keys: slices.Clone(mine.keys)}, approach{keys: slices.Clone(ref.keys)}
	a.against(&b, &l)
	e = ownExcess{share: float64(l.excess[byWork]) / float64(ref.total), slow: map[int32]int64{}, peer: map[int32]int64{}}
	for key, x := range l.extra {
		e.slow[key] = x.slow
	}
	for _, k := range ref.keys {
		e.peer[k.key] = k.busy
	}
	return e
}

// workBySteps sums a rank's own work per step and kernel.
func workBySteps(r *match.Rank, steps int) []*approach {
	out := make([]*approach, steps)
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Comm() || o.Step < 0 {
			continue
		}
		n := int(o.Step) + r.First
		if out[n] == nil {
			out[n] = &approach{}
		}
		k := out[n].at(o)
		k.count++
		k.busy += o.End - o.Start
		out[n].total += o.End - o.Start
	}
	return out
}

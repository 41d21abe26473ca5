package timeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/match"
)

// The stretched axis takes out what ranks wait for each other: every matched collective begins on it when its last rank
// came, and ends when its last rank left, on all ranks alike. Between, a rank's time is stretched or squeezed in
// proportion, so that what ranks did between two collectives stands side by side from end to end. By how much a moment
// was moved is the lateness that it hides, and is shown beside it.

// A knot is a moment of a rank that has a fixed place on the stretched axis.
type knot struct{ own, shown int64 }

// stretch gives all ranks their knots, which grow on both sides. Collectives that contradict this, since they overlap
// on two streams, are left out.
func (t *Timeline) stretch() {
	for _, d := range t.a.Domains {
		of := make([]*rank, len(d.Ranks))
		for i, r := range d.Ranks {
			of[i] = t.ranks[slices.IndexFunc(t.ranks, func(x *rank) bool { return x.Rank == r })]
		}
		for i := range d.Matches {
			if m := &d.Matches[i]; m.Possible() {
				left := leftBy(m)
				for _, p := range m.At {
					r := of[p.Rank]
					r.knots = append(r.knots, knot{p.Start - t.a.Origin, m.Last - t.a.Origin}, knot{p.End - t.a.Origin, left - t.a.Origin})
				}
			}
		}
	}
	for _, r := range t.ranks {
		slices.SortStableFunc(r.knots, func(a, b knot) int { return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(a.shown, b.shown)) })
		kept := r.knots[:0]
		for _, k := range r.knots {
			if n := len(kept); n == 0 || k.own > kept[n-1].own && k.shown > kept[n-1].shown {
				kept = append(kept, k)
			}
		}
		r.knots = slices.Clip(kept)
	}
}

// leftBy is when the last rank left a collective.
func leftBy(m *match.Match) (last int64) {
	for _, p := range m.At {
		last = max(last, p.End)
	}
	return last
}

// axis maps a rank's time to where it is shown and back, both ways without ever turning around. Without knots it is the
// wall clock. It remembers where it was: calls that go on in time are quick.
type axis struct {
	knots []knot
	at    int
}

// shown is where a moment of the rank is on the axis.
func (x *axis) shown(own int64) int64 {
	return x.along(own, func(k *knot) (from, to int64) { return k.own, k.shown })
}

// own is the moment of the rank that is at a place of the axis.
func (x *axis) own(shown int64) int64 {
	return x.along(shown, func(k *knot) (from, to int64) { return k.shown, k.own })
}

func (x *axis) along(v int64, sides func(*knot) (from, to int64)) int64 {
	n := len(x.knots)
	if n == 0 {
		return v
	}
	side := func(i int) int64 { from, _ := sides(&x.knots[i]); return from }
	switch {
	case x.at < n && side(x.at) > v && (x.at == 0 || side(x.at-1) <= v):
	case x.at+1 < n && side(x.at) <= v && side(x.at+1) > v:
		x.at++
	default:
		x.at, _ = slices.BinarySearchFunc(x.knots, v, func(k knot, v int64) int {
			if from, _ := sides(&k); from <= v {
				return -1
			}
			return 1
		})
	}
	// x.at is the first knot beyond v
	if x.at == 0 || x.at == n {
		from, to := sides(&x.knots[min(x.at, n-1)])
		return v - from + to
	}
	from0, to0 := sides(&x.knots[x.at-1])
	from1, to1 := sides(&x.knots[x.at])
	step := float64(v-from0) * (float64(to1-to0) / float64(from1-from0))
	return min(to0+int64(math.Floor(step)), to1)
}

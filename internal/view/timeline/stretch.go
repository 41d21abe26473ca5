package timeline

import (
	"cmp"
	"math"
	"slices"
	"sort"

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
	if len(x.knots) == 0 {
		return own
	}
	x.seek(func(i int) bool { return x.knots[i].own <= own })
	return x.between(own, false)
}

// own is the moment of the rank that is at a place of the axis.
func (x *axis) own(shown int64) int64 {
	if len(x.knots) == 0 {
		return shown
	}
	x.seek(func(i int) bool { return x.knots[i].shown <= shown })
	return x.between(shown, true)
}

// seek finds the first knot that is not before: it looks farther and farther away from where it was.
func (x *axis) seek(before func(i int) bool) {
	n := len(x.knots)
	from, to := 0, n
	if x.at == 0 || before(x.at-1) {
		from = x.at
		for step := 1; from < n && before(from); step *= 2 {
			if from += step; from >= n || !before(from-1) {
				to, from = min(from, n), from-step
				break
			}
		}
		from = min(from, n)
	} else {
		to = x.at - 1
	}
	x.at = from + sort.Search(to-from, func(i int) bool { return !before(from + i) })
}

// between maps a moment between the knots before and at x.at; beyond the last ones it keeps their distance.
func (x *axis) between(v int64, back bool) int64 {
	sides := func(k knot) (from, to int64) {
		if back {
			return k.shown, k.own
		}
		return k.own, k.shown
	}
	n := len(x.knots)
	if x.at == 0 || x.at == n {
		from, to := sides(x.knots[min(x.at, n-1)])
		return v - from + to
	}
	from0, to0 := sides(x.knots[x.at-1])
	from1, to1 := sides(x.knots[x.at])
	step := float64(v-from0) * (float64(to1-to0) / float64(from1-from0))
	return min(to0+int64(math.Floor(step)), to1)
}

package timeline

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/match"
)

// The stretched axis takes out what ranks wait for each other: every matched collective begins on it when its last rank
// came, and ends when its last rank left, on all ranks alike. Between, a rank's time is stretched or squeezed in
// proportion, so that what ranks did between two collectives stands side by side from end to end. By how much a moment
// was moved is the lateness that it hides, and is shown beside it.

// Knots are moments of a rank that have a fixed place on the stretched axis. They grow on both sides.
type knots struct{ own, shown []int64 }

// stretch gives all ranks their knots. Collectives that contradict this, since they overlap on two streams, are left out.
func (t *Timeline) stretch() {
	type knot struct{ own, shown int64 }
	all := make([][]knot, len(t.ranks))
	for _, d := range t.a.Domains {
		of := make([]int, len(d.Ranks))
		for i, r := range d.Ranks {
			of[i] = slices.Index(t.a.Ranks, r)
		}
		for i := range d.Matches {
			if m := &d.Matches[i]; m.Possible() {
				left := leftBy(m)
				for _, p := range m.At {
					rank := of[p.Rank]
					all[rank] = append(all[rank], knot{p.Start - t.a.Origin, m.Last - t.a.Origin}, knot{p.End - t.a.Origin, left - t.a.Origin})
				}
			}
		}
	}
	for i, r := range t.ranks {
		slices.SortStableFunc(all[i], func(a, b knot) int { return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(a.shown, b.shown)) })
		for _, k := range all[i] {
			if n := len(r.knots.own); n == 0 || k.own > r.knots.own[n-1] && k.shown > r.knots.shown[n-1] {
				r.knots.own, r.knots.shown = append(r.knots.own, k.own), append(r.knots.shown, k.shown)
			}
		}
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
	knots knots
	at    int
}

// shown is where a moment of the rank is on the axis.
func (x *axis) shown(own int64) int64 { return x.along(own, x.knots.own, x.knots.shown) }

// own is the moment of the rank that is at a place of the axis.
func (x *axis) own(shown int64) int64 { return x.along(shown, x.knots.shown, x.knots.own) }

// along maps a moment between the knots around it; beyond the last ones it keeps their distance.
func (x *axis) along(v int64, from, to []int64) int64 {
	n := len(from)
	if n == 0 {
		return v
	}
	// at is the first knot beyond v.
	at := x.at
	if at > 0 && from[at-1] > v {
		at, _ = slices.BinarySearch(from[:at], v+1)
	} else if at < n && from[at] <= v {
		step := 1
		for at+step < n && from[at+step] <= v {
			at += step
			step *= 2
		}
		more, _ := slices.BinarySearch(from[at:min(at+step, n)], v+1)
		at += more
	}
	x.at = at
	if at == 0 || at == n {
		k := min(at, n-1)
		return v - from[k] + to[k]
	}
	share := float64(v-from[at-1]) * (float64(to[at]-to[at-1]) / float64(from[at]-from[at-1]))
	return min(to[at-1]+int64(share), to[at])
}

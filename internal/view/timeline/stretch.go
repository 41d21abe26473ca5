package timeline

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// The stretched axis removes the waiting between ranks. On this axis, a matched collective begins on all ranks when its
// last rank arrived, and ends on all ranks when its last rank left. Between collectives, each rank's time is scaled
// linearly, so that the work of all ranks between two collectives lines up. The shift of a moment is the lateness that
// the axis hides, and is shown beside the axis.

// knots holds the moments of a rank that have a fixed position on the stretched axis. own holds the times of these
// moments, and shown the positions; both increase.
type knots struct{ own, shown []int64 }

// stretch computes the knots of all ranks. If collectives overlap on two streams, it leaves out those that would break
// the order of knots.
func (t *Timeline) stretch() {
	type knot struct{ own, shown int64 }
	all := make([][]knot, len(t.ranks))
	for _, d := range t.a.Domains {
		of := make([]int, len(d.Ranks))
		for i, r := range d.Ranks {
			of[i] = r.Index
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
		sorts.Stable(all[i], func(a, b knot) int { return cmp.Or(cmp.Compare(a.own, b.own), cmp.Compare(a.shown, b.shown)) })
		for _, k := range all[i] {
			if n := len(r.knots.own); n == 0 || k.own > r.knots.own[n-1] && k.shown > r.knots.shown[n-1] {
				r.knots.own, r.knots.shown = append(r.knots.own, k.own), append(r.knots.shown, k.shown)
			}
		}
	}
}

// leftBy returns the time at which the last rank left a collective.
func leftBy(m *match.Match) (last int64) {
	for _, p := range m.At {
		last = max(last, p.End)
	}
	return last
}

// axis maps a rank's time to its displayed position and back. Both maps are monotonic. Without knots, the position is
// the wall clock time. axis remembers the last knot that it used, so calls in increasing order are fast.
type axis struct {
	knots knots
	at    int
}

// shown returns the position on the axis of a moment of the rank.
func (x *axis) shown(own int64) int64 { return x.along(own, x.knots.own, x.knots.shown) }

// own returns the moment of the rank that is shown at a position on the axis.
func (x *axis) own(shown int64) int64 { return x.along(shown, x.knots.shown, x.knots.own) }

// along maps v from one column of knots to the other. It interpolates between the knots around v. Beyond the first and
// last knot, the difference between the columns is constant.
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

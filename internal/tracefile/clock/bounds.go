package clock

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Bounds is the set of all shifts (offset and drift) of one clock against another that a set of collectives allows.
// These shifts form a convex polygon. In each collective, no rank ends before all ranks have begun. So the shift δ(t)
// to add to clock b satisfies, at two times:
//
//	δ(E_b) ≥ S_a − E_b        b's end is not before a's start
//	δ(S_b) ≤ E_a − S_b        a's end is not before b's start
//
// So the line δ lies above one set of points and below another set. Only the convex hulls of the two sets matter.
//
// Sources: Duda, Harrus, Haddad and Bernard, "Estimating global time in distributed systems", 1987. As a linear
// program: Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay measurements", 1999.
type Bounds struct {
	x, y         int64 // subtracted from times (x) and shifts (y) before floating-point computation
	above, below hull  // above: hull of the points below δ, with negated shifts; below: hull of the points above δ
	least, most  float64
}

// slack is the rounding error: if the two sets overlap by at most this much, in ns, a line still counts as separating
// them.
const slack = 0.5

// Bound returns the bounds of other's clock against ref's from collectives that both ranks recorded: ref[i] and
// other[i] are the same collective. Bound assumes a drift of at most 500 ppm and takes O(n log n) time. ok is false if
// no shift satisfies all collectives: a clock jumped, or the collectives do not correspond.
func Bound(ref, other []Event) (b *Bounds, ok bool) {
	b = &Bounds{least: -mostDrift, most: mostDrift}
	if len(other) == 0 {
		return b, true
	}
	b.above, b.below = make(hull, 0, len(other)), make(hull, 0, len(other))
	b.x, b.y = other[0].End, ref[0].End-other[0].End
	for i := range other {
		a, o := ref[i], other[i]
		b.above = append(b.above, point{float64(o.End - b.x), -float64(a.Start - o.End - b.y)})
		b.below = append(b.below, point{float64(o.Start - b.x), float64(a.End - o.Start - b.y)})
	}
	b.above, b.below = b.above.lower(), b.below.lower()

	// For a given slope of δ, room is the distance between the highest line below the upper set and the lowest line
	// above the lower set. As a function of the slope it is concave, and it is linear between the slopes of two hull
	// edges.
	room := func(slope float64) float64 { return b.below.under(slope) + b.above.under(-slope) }
	slopes := []float64{b.least, b.most}
	for i := range len(b.below) - 1 {
		slopes = append(slopes, b.below.edge(i))
	}
	for i := range len(b.above) - 1 {
		slopes = append(slopes, -b.above.edge(i))
	}
	slices.Sort(slopes)
	from, _ := slices.BinarySearch(slopes, b.least)
	to, _ := slices.BinarySearch(slopes, b.most)
	slopes = slopes[from : to+1]
	rooms, widest := make([]float64, len(slopes)), 0
	for i, s := range slopes {
		if rooms[i] = room(s); rooms[i] > rooms[widest] {
			widest = i
		}
	}
	if rooms[widest] < -slack {
		return nil, false
	}
	// end returns the slope at which room falls to 0. step selects the side of the widest slope on which this slope
	// lies.
	end := func(step int) float64 {
		i := widest
		for i+step >= 0 && i+step < len(slopes) && rooms[i+step] >= 0 {
			i += step
		}
		if i+step < 0 || i+step == len(slopes) || rooms[i] <= 0 {
			return slopes[i]
		}
		return slopes[i] + (slopes[i+step]-slopes[i])*rooms[i]/(rooms[i]-rooms[i+step])
	}
	b.least, b.most = end(-1), end(1)
	return b, true
}

// At returns the smallest and largest shift at time t (ns) on the other clock.
func (b *Bounds) At(t int64) (lo, hi int64) {
	if len(b.below) == 0 {
		return math.MinInt64, math.MaxInt64
	}
	x := float64(t - b.x)
	hi = b.y + int64(math.Ceil(b.below.reach(x, b.least, b.most)))
	lo = b.y - int64(math.Ceil(b.above.reach(x, -b.most, -b.least)))
	return min(lo, hi), max(lo, hi)
}

// Drift returns the smallest and largest drift, in ns per ns.
func (b *Bounds) Drift() (lo, hi float64) { return b.least, b.most }

// Nearest returns the allowed shift that brings the ends of the collectives closest together, because all ranks leave a
// collective at about the same time.
func (b *Bounds) Nearest(ref, other []Event) Shift {
	pairs, d := make([]pair, len(other)), make([]int64, len(other))
	for i := range other {
		pairs[i] = pair{ref[i], other[i]}
	}
	sorts.Stable(pairs, func(p, q pair) int { return cmp.Compare(p.b.End, q.b.End) })
	for i, p := range pairs {
		d[i] = p.a.End - p.b.End
	}
	edge := (b.most - b.least) / 20 // near the extreme drifts almost no offset is allowed
	s := Shift{Drift: min(max(halves(pairs, d), b.least+edge), b.most-edge), Since: b.x, N: len(pairs)}
	for i, p := range pairs {
		d[i] -= int64(math.Round(s.Drift * float64(p.b.End-s.Since)))
	}
	mid := median(d)
	lo, hi := b.y+int64(math.Ceil(-b.above.under(-s.Drift))), b.y+int64(math.Floor(b.below.under(s.Drift)))
	s.Offset, s.Spread = min(max(mid, lo), hi), max(hi-mid, mid-lo)
	s.Lo, s.Hi = b.At(s.Since)
	return s
}

type point struct{ x, y float64 }

// hull is the lower side of the convex hull of points, from left to right.
type hull []point

// lower builds the hull of points in any order.
func (h hull) lower() hull {
	sorts.By(h, func(p, q point) int { return cmp.Or(cmp.Compare(p.x, q.x), cmp.Compare(p.y, q.y)) })
	n := 0
	for _, p := range h {
		if n > 0 && h[n-1].x == p.x {
			continue // p lies above the previous point
		}
		for n > 1 && (h[n-1].x-h[n-2].x)*(p.y-h[n-2].y) <= (h[n-1].y-h[n-2].y)*(p.x-h[n-2].x) {
			n--
		}
		h[n] = p
		n++
	}
	return slices.Clone(h[:n])
}

// edge returns the slope from point i to point i+1. Slopes increase with i.
func (h hull) edge(i int) float64 { return (h[i+1].y - h[i].y) / (h[i+1].x - h[i].x) }

// under returns the intercept at x = 0 of the highest line with this slope that has no point below it.
func (h hull) under(slope float64) float64 {
	// range of the searched point: edges before this point are less steep than slope, and edges after it are not
	i, j := 0, len(h)-1
	for i < j {
		if mid := (i + j) / 2; h.edge(mid) < slope {
			i = mid + 1
		} else {
			j = mid
		}
	}
	return h[i].y - slope*h[i].x
}

// reach returns the largest height at x of any line that has no point below it and a slope from least to most.
func (h hull) reach(x, least, most float64) float64 {
	i, _ := slices.BinarySearchFunc(h, x, func(p point, x float64) int { return cmp.Compare(p.x, x) })
	slope := most // if x is right of all points, the steepest slope is highest
	switch {
	case i == 0:
		slope = least
	case i < len(h):
		slope = min(max(h.edge(i-1), least), most)
	}
	return h.under(slope) + slope*x
}

// Package clock estimates the differences between the clocks of hosts from the collectives that their ranks ran
// together.
//
// No rank leaves a synchronising collective before all have entered it. For a collective recorded from S_a to E_a on
// host a and from S_b to E_b on host b, δ, the time to add to b's clock, therefore satisfies
//
//	S_a − E_b ≤ δ ≤ E_a − S_b
//
// Because all ranks leave within microseconds of each other, E_a − E_b is itself an estimate of δ. The median of this
// estimate over many collectives is [Shift.Offset]. The intersection of the intervals of all collectives is [Shift.Lo]
// to [Shift.Hi].
//
// Use only collectives in which every rank both sends and receives: all-reduce, all-gather, reduce-scatter, all-to-all
// and barrier, but not broadcast or send. All times are int64 nanoseconds. The package is pure arithmetic.
package clock

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Event is one collective as recorded by one rank.
type Event struct {
	Start, End int64  // ns on the rank's clock
	Key        uint64 // kind of operation and group: only events with equal keys can be the same collective
}

// Shift is the correction that makes one clock agree with another clock.
type Shift struct {
	Offset int64   // ns to add at time Since
	Drift  float64 // growth of the offset, ns per ns; 0 if the window is too short or there is no significant drift
	Since  int64   // ns on the shifted clock: the middle of the window
	Spread int64   // ns: half the range of the collectives' offsets; of many offsets, 1/20 at each end is left out
	// Leave is the time in ns by which one rank may consistently leave later than the other. If the same rank always
	// arrives last, the spread does not show this time, because the last rank need not wait for a message from the
	// other host. Leave is the duration of the shorter collectives after all ranks have arrived. If the round-trip time
	// to the other host is known and longer, Leave is the round-trip time.
	Leave  int64
	Lo, Hi int64 // ns: range of offsets that all collectives allow, apart from the Odd ones
	N      int   // collectives used
	Broken int   // collectives that are impossible with the unshifted clocks
	Odd    int   // collectives that are impossible even with the shift
	Moved  int   // number of collectives of the most common key by which one window opens later than the other
}

// At returns the time to add at t (ns) on the shifted clock.
func (s Shift) At(t int64) int64 {
	return s.Offset + int64(math.Round(s.Drift*float64(t-s.Since)))
}

// Uncertainty returns the possible error of the offset in ns. Apart from undetected drift, the error never exceeds the
// range that the collectives allow.
func (s Shift) Uncertainty() int64 {
	return min(s.Spread+s.Leave, max(s.Spread, s.Hi-s.Offset, s.Offset-s.Lo))
}

// Significant reports whether the offset exceeds its uncertainty, or the collectives rule out a zero offset. If it
// returns false, callers should leave the clock unchanged.
func (s Shift) Significant() bool {
	return abs(s.Offset) > s.Uncertainty() || s.N > 0 && (s.Lo > 0 || s.Hi < 0)
}

// Disagree reports whether the unshifted clocks must be wrong: according to them, most of the collectives ended on one
// rank before they began on the other.
func (s Shift) Disagree() bool { return 2*s.Broken > s.N }

// Errors of Estimate.
var (
	ErrFew      = errors.New("fewer than 8 collectives in common")
	ErrMismatch = errors.New("the collectives do not match: no offset satisfies them")
)

const (
	minEvents  = 8
	few        = 64      // below this number of collectives the spread covers the whole range of their offsets
	maxMoved   = 64      // maximum number of collectives between the openings of the windows
	maxKeys    = 16      // keys examined, most common first
	sample     = 512     // pairs examined to choose a match
	driftAfter = 1e9     // ns: in a window shorter than this, a drift must be steady to count
	mostDrift  = 500e-6  // ns per ns: maximum drift between clocks
	sameKey    = 100_000 // ns: offsets of two keys that differ by no more than this agree
)

// Estimate returns the shift that makes other's clock agree with ref's. Both lists of events must be sorted by start.
func Estimate(ref, other []Event) (Shift, error) {
	a, b := byKey(ref), byKey(other)
	var keys []uint64
	for k := range a {
		if len(b[k]) > 0 {
			keys = append(keys, k)
		}
	}
	sorts.By(keys, func(x, y uint64) int {
		return cmp.Or(min(len(a[y]), len(b[y]))-min(len(a[x]), len(b[x])), cmp.Compare(x, y))
	})
	var pairs []pair
	var s Shift
	var anchor int64
	for i, k := range keys[:min(len(keys), maxKeys)] {
		m, ok := match(a[k], b[k], i > 0, anchor)
		if !ok {
			continue
		}
		if len(pairs) == 0 {
			anchor, s.Moved = m.offset, m.moved
		} else if abs(m.offset-anchor) > max(sameKey, 4*m.mad) {
			continue
		}
		pairs = appendPairs(pairs, a[k], b[k], m.moved)
	}
	if len(pairs) < minEvents {
		return Shift{}, ErrFew
	}
	s.fit(pairs)
	if 20*s.Odd > s.N {
		return s, ErrMismatch
	}
	return s, nil
}

// Plausible is a cheap first check: it reports whether both ranks have the same collectives and the unshifted clocks
// are possible for nearly all of these collectives. If it returns false, use Estimate.
func Plausible(ref, other []Event) bool {
	a, b := byKey(ref), byKey(other)
	n, broken := 0, 0
	for k, x := range a {
		y := b[k]
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			n++
			if x[i].Start > y[i].End || y[i].Start > x[i].End {
				broken++
			}
		}
	}
	return len(a) == len(b) && 10*broken <= n
}

// pair is one collective as recorded by both ranks.
type pair struct{ a, b Event }

func byKey(events []Event) map[uint64][]Event {
	m := map[uint64][]Event{}
	for _, e := range events {
		m[e.Key] = append(m[e.Key], e)
	}
	return m
}

// matching is one alignment of two sequences of events: a[i+moved] and b[i] are the same collective. Only in the
// correct matching do the ends of all pairs differ by the same amount, because steps never have equal lengths.
type matching struct {
	moved       int
	offset, mad int64
}

// match finds the best matching. If anchored is set, it ignores matchings whose offset contradicts anchor.
func match(a, b []Event, anchored bool, anchor int64) (matching, bool) {
	var best, plain matching
	found, hasPlain := false, false
	enough := max(3, min(len(a), len(b))/2)
	d, when := make([]int64, 0, sample), make([]int64, 0, sample)
	try := func(moved int) {
		lo, hi := max(0, -moved), min(len(b), len(a)-moved)
		if hi-lo < enough {
			return
		}
		d, when = d[:0], when[:0]
		for i, n := 0, min(sample, hi-lo); i < n; i++ {
			at := lo + i*(hi-lo)/n
			d, when = append(d, a[at+moved].End-b[at].End), append(when, b[at].End)
		}
		Undrift(d, when)
		m := matching{moved: moved, offset: median(d)}
		for i := range d {
			d[i] = abs(d[i] - m.offset)
		}
		m.mad = median(d)
		if anchored && abs(m.offset-anchor) > max(sameKey, 4*m.mad) {
			return
		}
		if !found || m.mad < best.mad {
			best, found = m, true
		}
		if moved == 0 {
			plain, hasPlain = m, true
		}
	}
	// The two windows usually open together, so a matching with moved ≠ 0 must be clearly better than the one with
	// moved = 0.
	const clearly = 1000 // ns
	if try(0); hasPlain && plain.mad <= clearly {
		return plain, true
	}
	best, found = matching{}, false
	for moved := -min(maxMoved, len(b)-1); moved <= min(maxMoved, len(a)-1); moved++ {
		try(moved)
	}
	if hasPlain && plain.mad <= 2*best.mad+clearly {
		return plain, true
	}
	return best, found
}

// Undrift removes the effect of drift from diff. diff[i] is the difference between the two ends of a collective, and
// when[i] is its time. Undrift subtracts a line through the medians of the first and the last third. The line is no
// steeper than the maximum drift of clocks.
func Undrift(diff, when []int64) {
	n := len(diff) / 3
	if n < 3 {
		return
	}
	order := make([]int, len(diff))
	for i := range order {
		order[i] = i
	}
	sorts.By(order, func(i, j int) int { return cmp.Compare(when[i], when[j]) })
	mid := func(v []int64, of []int) int64 {
		out := make([]int64, len(of))
		for i, at := range of {
			out[i] = v[at]
		}
		return median(out)
	}
	early, late := order[:n], order[len(order)-n:]
	slope := float64(mid(diff, late)-mid(diff, early)) / float64(max(mid(when, late)-mid(when, early), 1))
	slope = min(max(slope, -mostDrift), mostDrift)
	for i := range diff {
		diff[i] -= int64(slope * float64(when[i]-when[order[0]]))
	}
}

func appendPairs(pairs []pair, a, b []Event, moved int) []pair {
	for i := max(0, -moved); i < min(len(b), len(a)-moved); i++ {
		pairs = append(pairs, pair{a[i+moved], b[i]})
	}
	return pairs
}

// fit computes the shift from matched collectives.
func (s *Shift) fit(pairs []pair) {
	sorts.By(pairs, func(x, y pair) int { return cmp.Compare(x.b.End, y.b.End) })
	n := len(pairs)
	first, last := pairs[0].b.End, pairs[n-1].b.End
	s.N, s.Since = n, first+(last-first)/2
	d := make([]int64, n)
	for i, p := range pairs {
		d[i] = p.a.End - p.b.End
	}
	slope := drift(pairs, d)
	s.settle(pairs, d, slope)
	// In a short window a single change, such as a link that becomes slower, looks like a drift. So the drift is kept
	// only if it is steady or the collectives rule out zero drift.
	if last-first < driftAfter && !steady(pairs, d, slope) {
		still := *s
		if still.settle(pairs, d, 0); still.Odd <= s.Odd {
			*s = still
		}
	}
}

// steady reports whether the differences d grow continuously rather than change once. It fits a line and two constant
// levels to medians of a few pairs each. The residuals of the line must be less than half of the residuals of the
// levels.
func steady(pairs []pair, d []int64, slope float64) bool {
	points := min(len(d)/4, 32)
	var flat, rest []int64
	for i := range points {
		from, to := i*len(d)/points, (i+1)*len(d)/points
		mid := median(slices.Clone(d[from:to]))
		flat = append(flat, mid)
		rest = append(rest, mid-int64(slope*float64(pairs[(from+to)/2].b.End-pairs[0].b.End)))
	}
	levels := int64(math.MaxInt64)
	for i := 1; i < points; i++ {
		levels = min(levels, scatter(flat[:i])+scatter(flat[i:]))
	}
	return 2*scatter(rest) < levels
}

// scatter returns the sum of the distances of the values to their median.
func scatter(v []int64) (sum int64) {
	mid := median(slices.Clone(v))
	for _, x := range v {
		sum += abs(x - mid)
	}
	return sum
}

// settle computes the remaining fields of the shift for a given drift. The pairs are in order of time, and d[i] is the
// difference between the two ends of pair i.
func (s *Shift) settle(pairs []pair, d []int64, slope float64) {
	n := len(pairs)
	s.Drift, s.Broken, s.Odd = slope, 0, 0
	d = slices.Clone(d)
	for i, p := range pairs {
		d[i] -= int64(math.Round(s.Drift * float64(p.b.End-s.Since)))
	}
	slices.Sort(d)
	s.Offset = d[n/2]
	cut := n / 20
	if n < few {
		cut = 0 // if there are few collectives, the outermost collectives count as well
	}
	s.Spread = (d[n-1-cut] - d[cut] + 1) / 2
	s.Leave = transfer(pairs)
	s.allow(pairs)
	s.Lo, s.Hi = math.MinInt64, math.MaxInt64
	for _, p := range pairs {
		if p.a.Start > p.b.End || p.b.Start > p.a.End {
			s.Broken++
		}
		lo, hi := s.bounds(p)
		if s.Offset < lo || s.Offset > hi {
			s.Odd++
			continue
		}
		s.Lo, s.Hi = max(s.Lo, lo), min(s.Hi, hi)
	}
}

// bounds returns the offsets that a collective allows.
func (s *Shift) bounds(p pair) (lo, hi int64) {
	turn := s.At(p.b.End) - s.Offset
	return p.a.Start - p.b.End - turn, p.a.End - p.b.Start - turn
}

// allow moves the offset into the range that the collectives allow. This is needed because the offset comes from the
// ends: ranks leave a collective at slightly different times, and over a network this difference exceeds the tightest
// bounds. If the collectives allow no common range, a fortieth of them on each side may contradict the result.
func (s *Shift) allow(pairs []pair) {
	los, his := make([]int64, len(pairs)), make([]int64, len(pairs))
	for i, p := range pairs {
		los[i], his[i] = s.bounds(p)
	}
	slices.Sort(los)
	slices.Sort(his)
	for _, cut := range []int{0, len(pairs) / 40} {
		if lo, hi := los[len(los)-1-cut], his[cut]; lo <= hi {
			s.Offset = min(max(s.Offset, lo), hi)
			return
		}
	}
}

// transfer estimates the duration of the shorter collectives after all ranks have arrived. The rank that arrives last
// spends the least time in a collective, so the estimate for one collective is the smaller of its two durations. The
// result is the first quartile over all collectives, because longer collectives move more data and do not show how far
// apart the ranks leave.
func transfer(pairs []pair) int64 {
	took := make([]int64, len(pairs))
	for i, p := range pairs {
		took[i] = max(0, min(p.a.End-p.a.Start, p.b.End-p.b.Start))
	}
	slices.Sort(took)
	return took[len(took)/4]
}

// halves returns the median of the slopes of d, each taken between two collectives that are half the list apart.
func halves(pairs []pair, d []int64) float64 {
	n := len(pairs)
	slopes := make([]float64, 0, n/2)
	for i := range n / 2 {
		if dt := pairs[i+n/2].b.End - pairs[i].b.End; dt > 0 {
			slopes = append(slopes, float64(d[i+n/2]-d[i])/float64(dt))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// drift returns the slope of the differences d over time, or 0 if the slope is below the noise.
func drift(pairs []pair, d []int64) float64 {
	n := len(pairs)
	if n < 2*minEvents {
		return 0
	}
	window := pairs[n-1].b.End - pairs[0].b.End
	rho := halves(pairs, d)
	rest := make([]int64, n)
	for i := range d {
		rest[i] = d[i] - int64(rho*float64(pairs[i].b.End-pairs[0].b.End))
	}
	mid := median(rest)
	for i := range rest {
		rest[i] = abs(rest[i] - mid)
	}
	if math.Abs(rho)*float64(window) < 4*float64(median(rest))+1000 {
		return 0
	}
	return rho
}

// median returns the median of v, which it reorders.
func median(v []int64) int64 { return metric.SelectNth(v, len(v)/2) }

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

package match

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/clock"
)

// This file bounds the differences between clocks. A lateness that is smaller than these bounds is proven only if both
// ranks share a clock. Ranks share a clock if their files name the same host. Files without a host name, such as
// SGLang's, are also taken to come from one host. There are two exceptions: the clocks of the files had to be shifted,
// or several of the files have work on devices of the same number, as on separate hosts. The bounds for separate hosts
// are computed in any case.

// directPairs is the number of clocks up to which every pair of clocks is compared directly. If there are more clocks,
// each clock is compared only with the first one, because the number of pairs grows with the square.
const directPairs = 16

// ClockBound bounds the error that remains in a rank's clock after the shift, relative to the clock of the domain's
// first rank. The error does not exceed the bounds at any collective.
type ClockBound struct {
	Method              clock.Method
	Against             string // label of the other rank; "": none
	Assumed             bool   // the clock is assumed to be shared, since no file names a host
	Low, High           int64  // ns, Low ≤ 0 ≤ High
	DriftLow, DriftHigh float64
}

// Within returns the largest possible error of the clock, in either direction.
func (b *ClockBound) Within() int64 { return max(-b.Low, b.High) }

// watch is a clock with the collectives of the ranks that share it. For each collective, it holds the last start and
// the first end on these ranks.
type watch struct {
	rank int // first rank with this clock
	seen []sight
}

type sight struct {
	match    int
	possible bool // see Match.Possible
	clock.Event
}

// readClocks determines which ranks share a clock, and bounds each clock relative to the first one. If a clock has no
// collectives in common with the first, it is bounded through other clocks.
func (d *Domain) readClocks() {
	d.watchOf, d.watches, d.bounds = make([]int, len(d.Ranks)), nil, map[[2]int]*clock.Bounds{}
	d.severalHosts = d.sameDevices()
	for i, r := range d.Ranks {
		d.watchOf[i] = len(d.watches)
		for w := range d.watches {
			o := d.Ranks[d.watches[w].rank]
			if r.Source.Host != "" && d.oneClock(r, o) {
				d.watchOf[i] = w
			}
		}
		if d.watchOf[i] == len(d.watches) {
			d.watches = append(d.watches, watch{rank: i})
		}
	}
	for m := range d.Matches {
		possible := d.Matches[m].Possible()
		for _, p := range d.Matches[m].At {
			w := &d.watches[d.watchOf[p.Rank]]
			if w.seen == nil {
				w.seen = make([]sight, 0, len(d.Matches))
			}
			if n := len(w.seen); n > 0 && w.seen[n-1].match == m {
				e := &w.seen[n-1].Event
				e.Start, e.End = max(e.Start, p.Start), min(e.End, p.End)
			} else {
				w.seen = append(w.seen, sight{m, possible, clock.Event{Start: p.Start, End: p.End}})
			}
		}
	}
	all := make([]ClockBound, len(d.watches))
	all[0].Method = clock.Reference
	for again := true; again; {
		again = false
		for w := range all {
			for from := range all {
				if all[w].Method != "" || all[from].Method == "" || from == w {
					continue
				}
				b := d.bound(from, w)
				if b == nil {
					continue
				}
				all[w] = d.clockBound(b, &all[from])
				again = true
			}
		}
	}
	for i, r := range d.Ranks {
		w := d.watchOf[i]
		r.Clock = all[w]
		switch {
		case w == 0 && i > 0:
			r.Clock.Method, r.Clock.Against = clock.SameHost, d.Ranks[0].Label
		case r.Clock.Method == "":
			r.Clock.Method = clock.Unaligned
		case r.Clock.Method == clock.Collectives:
			r.Clock.Assumed = d.oneClock(r, d.Ranks[0])
		}
	}
}

// forget releases the data that later comparisons of clocks do not need.
func (d *Domain) forget() {
	if len(d.watches) > directPairs {
		d.bounds = nil
		for w := range d.watches {
			d.watches[w].seen = nil
		}
	}
}

// contradictions classifies impossible collectives. mendable means that all collectives become possible with some
// offset and drift of each clock relative to the first. never means that no offset and drift achieves this. Both are
// false if the times of ranks with the same clock contradict each other.
func (d *Domain) contradictions() (mendable, never bool) {
	if d.Impossible() == 0 {
		return false, false
	}
	mendable = true
	for w := range d.watches {
		if slices.ContainsFunc(d.watches[w].seen, func(s sight) bool { return s.Start > s.End }) {
			mendable = false
			if w == 0 {
				break
			}
			continue
		}
		ref, other := d.common(0, w, false)
		if _, ok := clock.Bound(ref, other); !ok {
			return false, true
		}
	}
	return mendable, false
}

// mendClocks shifts clocks that still contradict collectives, so that all collectives become possible. This helps, for
// example, if there are too few collectives to determine a drift by their ends alone. If impossible collectives remain,
// mendClocks restores the clocks and returns false.
func (d *Domain) mendClocks() bool {
	before := make([]clock.Shift, len(d.Ranks))
	for i, r := range d.Ranks {
		before[i] = r.Shift
	}
	for w := range d.watches[1:] {
		ref, other := d.common(0, w+1, false)
		b, ok := clock.Bound(ref, other)
		if len(ref) < movedPairs || !ok {
			continue
		}
		more := b.Nearest(ref, other)
		if abs(more.Offset) > strange {
			continue
		}
		for i, r := range d.Ranks {
			if d.watchOf[i] == w+1 {
				r.Shift = after(r.Shift, more)
			}
		}
	}
	d.find()
	mended := d.Impossible() == 0
	if !mended {
		for i, r := range d.Ranks {
			r.Shift = before[i]
		}
		d.find()
	}
	d.readClocks()
	return mended
}

// after returns the composition of two shifts of a clock. more refers to times to which first has already been applied.
func after(first, more clock.Shift) clock.Shift {
	at := more.Since - first.At(more.Since)
	by := first.At(at)
	more.Offset = by + more.At(at+by)
	more.Lo, more.Hi, more.Since = more.Lo+by, more.Hi+by, at
	more.Drift += first.Drift + more.Drift*first.Drift
	return more
}

// clockBound returns the widest bounds, over all collectives, of a clock relative to another clock, plus the bounds of
// that other clock.
func (d *Domain) clockBound(b *clock.Bounds, more *ClockBound) ClockBound {
	c := ClockBound{Method: clock.Collectives, Against: d.Ranks[0].Label}
	for _, m := range []*Match{&d.Matches[0], &d.Matches[len(d.Matches)-1]} { // bounds are narrower between these two
		lo, hi := b.At(m.Last)
		c.Low, c.High = min(c.Low, lo), max(c.High, hi)
	}
	c.DriftLow, c.DriftHigh = b.Drift()
	c.Low, c.High = c.Low+more.Low, c.High+more.High
	c.DriftLow, c.DriftHigh = c.DriftLow+more.DriftLow, c.DriftHigh+more.DriftHigh
	return c
}

// bound returns the bounds on clock b relative to clock a by the collectives of both clocks, without impossible
// collectives. It returns nil if there are no such collectives.
func (d *Domain) bound(a, b int) *clock.Bounds {
	key := [2]int{a, b}
	if have, ok := d.bounds[key]; ok {
		return have
	}
	ref, other := d.common(a, b, true)
	var got *clock.Bounds
	if len(ref) > 0 {
		got, _ = clock.Bound(ref, other)
	}
	d.bounds[key] = got
	return got
}

// common returns the collectives in which ranks of both clocks take part. If possible is set, it leaves out impossible
// collectives.
func (d *Domain) common(a, b int, possible bool) (ref, other []clock.Event) {
	x, y := d.watches[a].seen, d.watches[b].seen
	n := min(len(x), len(y))
	ref, other = make([]clock.Event, 0, n), make([]clock.Event, 0, n)
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i].match < y[j].match:
			i++
		case x[i].match > y[j].match:
			j++
		default:
			if !possible || x[i].possible {
				ref, other = append(ref, x[i].Event), append(other, y[j].Event)
			}
			i, j = i+1, j+1
		}
	}
	return ref, other
}

// oneClock reports whether two ranks are assumed to share a clock.
func (d *Domain) oneClock(r, o *Rank) bool {
	return r == o || r.Source.Host == o.Source.Host && (r.Source.Host != "" || !d.severalHosts) && r.Shift.Offset == o.Shift.Offset && r.Shift.Drift == o.Shift.Drift
}

// sameDevices reports whether two ranks with files that name no host have work on devices of the same number.
func (d *Domain) sameDevices() bool {
	seen := map[int32]bool{}
	for _, r := range d.Ranks {
		if r.Source.Host != "" {
			continue
		}
		for _, n := range r.Devices {
			if seen[n] {
				return true
			}
			seen[n] = true
		}
	}
	return false
}

// Doubt returns, in ns, how much of the lateness of one rank relative to another may be due to clock error at the time
// at.
func (d *Domain) Doubt(late, other int32, at int64) int64 {
	a, b := d.watchOf[other], d.watchOf[late]
	if a == b || d.oneClock(d.Ranks[late], d.Ranks[other]) {
		return 0
	}
	if len(d.watches) > directPairs {
		x, y := &d.Ranks[late].Clock, &d.Ranks[other].Clock
		if x.Method == clock.Unaligned || y.Method == clock.Unaligned {
			return math.MaxInt64
		}
		return y.High - x.Low
	}
	bounds := d.bound(min(a, b), max(a, b))
	if bounds == nil {
		return math.MaxInt64 // the clocks have no possible collective in common
	}
	lo, hi := bounds.At(at)
	if a > b {
		return max(0, hi)
	}
	return max(0, -lo)
}

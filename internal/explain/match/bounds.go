package match

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/clock"
)

// How surely it is known by how much clocks differ. Collectives say who is late by less
// than that only as long as one clock times both ranks. Ranks share a clock if their
// files name the same host. Files that name none, as SGLang's do not, are taken to be of
// one host too, unless their clocks had to be brought together, or some have work on
// devices of the same number, as the ranks of two hosts have; what would be known of their
// clocks if they were not of one is found all the same.

// directPairs is how many clocks are compared each with each: the work grows with their
// square. Of more, two are compared over the first.
const directPairs = 16

// ClockBound is what collectives allow of a rank's clock, beyond its shift, against that
// of the first rank it shares collectives with: at none of these is it off by more.
type ClockBound struct {
	Method              clock.Method
	Against             string // the rank's label; "": none
	Assumed             bool   // to be that rank's clock: no file says so
	Low, High           int64  // ns, Low ≤ 0 ≤ High
	DriftLow, DriftHigh float64
}

// Within is by how much the clock may be off at most, either way.
func (b *ClockBound) Within() int64 { return max(-b.Low, b.High) }

// watch is a clock, and what the ranks that go by it have seen: of each collective the
// last start and the first end.
type watch struct {
	rank int // the first of them
	seen []sight
}

type sight struct {
	match    int
	possible bool // the match
	clock.Event
}

// readClocks finds which ranks share a clock, and bounds each clock against the first, over
// others where they share no collectives.
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

// forget lets go of what no comparison of clocks needs any more.
func (d *Domain) forget() {
	if len(d.watches) > directPairs {
		d.bounds = nil
		for w := range d.watches {
			d.watches[w].seen = nil
		}
	}
}

// contradictions tells what is to be made of impossible collectives: mendable, some offset
// and drift of each clock against the first allow all of them; never, none does. Neither
// is told of those that contradict each other on one clock.
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

// mendClocks shifts clocks that still contradict collectives by as much as all of them
// allow, as where they are too few to see a drift by their ends alone. It tells whether
// none is impossible then; else it leaves the clocks as they were.
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

// after is the shift of a clock that is shifted once more. The second goes by times that
// the first has shifted.
func after(first, more clock.Shift) clock.Shift {
	at := more.Since - first.At(more.Since)
	by := first.At(at)
	more.Offset = by + more.At(at+by)
	more.Lo, more.Hi, more.Since = more.Lo+by, more.Hi+by, at
	more.Drift += first.Drift + more.Drift*first.Drift
	return more
}

// clockBound is the widest of bounds against a clock over all collectives, and what is
// known of that one.
func (d *Domain) clockBound(b *clock.Bounds, more *ClockBound) ClockBound {
	c := ClockBound{Method: clock.Collectives, Against: d.Ranks[0].Label}
	for _, m := range []*Match{&d.Matches[0], &d.Matches[len(d.Matches)-1]} { // between these they are narrower
		lo, hi := b.At(m.Last)
		c.Low, c.High = min(c.Low, lo), max(c.High, hi)
	}
	c.DriftLow, c.DriftHigh = b.Drift()
	c.Low, c.High = c.Low+more.Low, c.High+more.High
	c.DriftLow, c.DriftHigh = c.DriftLow+more.DriftLow, c.DriftHigh+more.DriftHigh
	return c
}

// bound is what the collectives that two clocks have in common, and that do not
// contradict them, allow of the second; nil: there are none.
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

// common are the collectives that two clocks both have seen.
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

// oneClock tells ranks that are taken to share a clock.
func (d *Domain) oneClock(r, o *Rank) bool {
	return r == o || r.Source.Host == o.Source.Host && (r.Source.Host != "" || !d.severalHosts) && r.Shift.Offset == o.Shift.Offset && r.Shift.Drift == o.Shift.Drift
}

// sameDevices tells whether ranks whose files name no host have work on devices of the same
// number.
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

// Doubt is by how much a rank may be less late than another at a moment, for all that is
// known of their clocks, ns.
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
		return math.MaxInt64 // they share no collective that is possible
	}
	lo, hi := bounds.At(at)
	if a > b {
		return max(0, hi)
	}
	return max(0, -lo)
}

package detect

import (
	"math"
	"time"
)

// sum is a cumulative sum (E. S. Page, Continuous inspection schemes, Biometrika 41, 1954) in
// seconds. A point at which the statistic v stands where it is to alarm (high) counts as much
// as the time since the point before; at the middle between there and what is normal, which is
// Page's reference value for a change of that size, it counts nothing; below that it counts
// back. Points count no more than that either way, so that one that is far out says no more
// than another (Huber's clipping): a burst of a second is a second.
//
//	y = clip((v − mid) / (high − mid), −1, 1)    mid = (normal + high) / 2
//	S = max(0, S + y·dt)                          alarm at S ≥ for, if v ≥ limit half of the time since S left 0
//
// high is the rule's limit, or more where v varies so much by itself that the limit says nothing.
//
// A step from one value to another lies where S was last 0: that is the most likely place for it (D. V.
// Hinkley, Inference about the change-point from cumulative sum tests, Biometrika 58, 1971). But
// requests gather, so a change mostly is a slope, at whose beginning S does not grow yet. So the onset
// is looked for from there back to the last point that was as usual.
type sum struct {
	s float64 // seconds

	last  time.Time // the point before; zero: none
	zero  time.Time // the last point at which s was 0
	onset time.Time // the first after it
	usual time.Time // the last point that was as usual
	odd   time.Time // the first after it

	during, above float64 // seconds since onset, and of them v ≥ limit
	values        float64 // sum of v·dt since onset
	alarm         bool
}

// step is what a point changed.
type step int

const (
	nothing step = iota
	began        // an alarm
	ended
)

// slope is how far back from where S was last 0 a change is looked for.
const slope = 30 * time.Second

// between is between which two points the change lies.
func (c *sum) between() (after, onset time.Time) {
	if !c.odd.IsZero() && c.odd.Before(c.onset) && c.zero.Sub(c.odd) <= slope {
		return c.usual, c.odd
	}
	return c.zero, c.onset
}

// add takes a point. Its time since the one before counts up to most. sure: it may alarm.
func (c *sum) add(at time.Time, p *point, limit, most time.Duration, sure bool) step {
	v, normal, high := p.v, p.normal, p.high
	dt := most
	if !c.last.IsZero() {
		dt = min(max(at.Sub(c.last), 0), most)
	} else {
		dt = 0 // nothing is known of the time before it
		c.zero = at
	}
	c.last = at
	if p.usual {
		c.usual, c.odd = at, time.Time{}
	} else if c.odd.IsZero() && !c.usual.IsZero() {
		c.odd = at
	}
	mid := (normal + high) / 2
	y := math.Min(math.Max((v-mid)/(high-mid), -1), 1)
	if math.IsNaN(y) {
		y = 0
	}
	before := c.s
	c.s = math.Min(math.Max(c.s+y*dt.Seconds(), 0), limit.Seconds())
	if c.s == 0 {
		c.zero, c.during, c.above, c.values = at, 0, 0, 0
		if c.alarm {
			c.alarm = false
			return ended
		}
		return nothing
	}
	if before == 0 {
		c.onset = at
	}
	c.during += dt.Seconds()
	c.values += v * dt.Seconds()
	if v >= p.limit {
		c.above += dt.Seconds()
	}
	// A millionth: sums of tenths of seconds are not exact.
	if sure && !c.alarm && c.s >= limit.Seconds()-1e-6 && c.above >= c.during/2 {
		c.alarm = true
		return began
	}
	return nothing
}

// mean is that of v since the onset.
func (c *sum) mean() float64 { return c.values / c.during }

package detect

import (
	"math"
	"time"
)

// sum is a cumulative sum in seconds (E. S. Page, Continuous inspection schemes, Biometrika 41, 1954). Each point has a
// statistic v. If v is at or above the alarm level (high), the point adds the time since the previous point to the sum.
// If v is halfway between normal and high, the point adds nothing: halfway is Page's reference value for detecting a
// change from normal to high. If v is less than halfway, the point subtracts from the sum. A contribution is clipped to
// the elapsed time in both directions (Huber's clipping), so an extreme value counts no more than its duration. For
// example, a burst of 1 s adds 1 s.
//
//	y = clip((v − mid) / (high − mid), −1, 1)    mid = (normal + high) / 2
//	S = max(0, S + y·dt)                          alarm at S ≥ for, if v ≥ limit half of the time since S left 0
//
// The level high is the rule's limit. If v varies so much in normal operation that the limit is meaningless, high is
// greater than the limit.
//
// If v changes in a step, the most likely time of the step is the last time at which S was 0 (D. V. Hinkley, Inference
// about the change-point from cumulative sum tests, Biometrika 58, 1971). But most changes are slopes, since requests
// accumulate, and at the beginning of a slope S does not yet grow. The search for the onset therefore continues
// backwards from the last time at which S was 0 to the last usual point before that time.
type sum struct {
	s float64 // s

	last  time.Time // previous point; zero: none
	zero  time.Time // last point at which s was 0
	onset time.Time // first point after zero
	usual time.Time // last usual point
	odd   time.Time // first point after usual

	during, above float64 // seconds since onset; the part of these seconds with v ≥ limit
	values        float64 // sum of v·dt since onset
	alarm         bool
}

// step is the change of the alarm state that a point caused.
type step int

const (
	nothing step = iota
	began        // an alarm began
	ended
)

// slope is the maximum time by which an onset may precede the last time at which S was 0.
const slope = 30 * time.Second

// between returns the two points between which the change lies.
func (c *sum) between() (after, onset time.Time) {
	if !c.odd.IsZero() && c.odd.Before(c.onset) && c.zero.Sub(c.odd) <= slope {
		return c.usual, c.odd
	}
	return c.zero, c.onset
}

// add adds a point. The time since the previous point counts up to the duration most. The point can raise an alarm only
// if sure is true.
func (c *sum) add(at time.Time, p *point, limit, most time.Duration, sure bool) step {
	v, normal, high := p.v, p.normal, p.high
	dt := most
	if !c.last.IsZero() {
		dt = min(max(at.Sub(c.last), 0), most)
	} else {
		dt = 0 // the time before the first point is unknown
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
	// The tolerance of 1e-6 covers the rounding of sums of tenths of seconds.
	if sure && !c.alarm && c.s >= limit.Seconds()-1e-6 && c.above >= c.during/2 {
		c.alarm = true
		return began
	}
	return nothing
}

// mean returns the mean of v since the onset.
func (c *sum) mean() float64 { return c.values / c.during }

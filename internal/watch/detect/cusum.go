package detect

import (
	"math"
	"time"
)

// sum is a cumulative sum in seconds (E. S. Page, Continuous inspection schemes, Biometrika 41, 1954). A point whose
// statistic v reaches the alarm level (high) adds the time since the previous point. A point halfway between normal and
// high adds nothing: this is Page's reference value for a change of that size. A lower point subtracts. Contributions
// are clipped to the elapsed time in both directions (Huber's clipping), so an extreme value counts no more than its
// duration: a burst of a second adds one second.
//
//	y = clip((v − mid) / (high − mid), −1, 1)    mid = (normal + high) / 2
//	S = max(0, S + y·dt)                          alarm at S ≥ for, if v ≥ limit half of the time since S left 0
//
// high is the rule's limit, or more where v varies so much by itself that the limit is meaningless.
//
// The most likely time of a step is the last time that S was 0 (D. V. Hinkley, Inference about the change-point from
// cumulative sum tests, Biometrika 58, 1971). But requests accumulate, so most changes are slopes, and S does not grow
// yet where a slope begins. The search for the onset therefore goes back from there to the last usual point.
type sum struct {
	s float64 // s

	last  time.Time // previous point; zero: none
	zero  time.Time // last point at which s was 0
	onset time.Time // first point after zero
	usual time.Time // last usual point
	odd   time.Time // first point after usual

	during, above float64 // seconds since onset, and those with v ≥ limit
	values        float64 // sum of v·dt since onset
	alarm         bool
}

// step is the change that a point caused.
type step int

const (
	nothing step = iota
	began        // an alarm began
	ended
)

// slope is the maximum distance of an onset from the last time that S was 0.
const slope = 30 * time.Second

// between returns the two points between which the change lies.
func (c *sum) between() (after, onset time.Time) {
	if !c.odd.IsZero() && c.odd.Before(c.onset) && c.zero.Sub(c.odd) <= slope {
		return c.usual, c.odd
	}
	return c.zero, c.onset
}

// add adds a point. The time since the previous point counts up to most. Only if sure is true may it raise an alarm.
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

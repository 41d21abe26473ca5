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
//	S = max(0, S + y·dt)                          alarm at S ≥ for, if v ≥ high half of the time since S left 0
//
// The change lies where S was last 0: that is the most likely place for it (D. V. Hinkley,
// Inference about the change-point from cumulative sum tests, Biometrika 58, 1971).
type sum struct {
	s float64 // seconds

	last  time.Time // the point before; zero: none
	zero  time.Time // the last point at which s was 0
	onset time.Time // the first after it

	during, above float64 // seconds since onset, and of them v ≥ high
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

// add takes a point. Its time since the one before counts up to most.
func (c *sum) add(at time.Time, v, normal, high float64, limit, most time.Duration) step {
	dt := most
	if !c.last.IsZero() {
		dt = min(max(at.Sub(c.last), 0), most)
	} else {
		dt = 0 // nothing is known of the time before it
		c.zero = at
	}
	c.last = at
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
	if v >= high {
		c.above += dt.Seconds()
	}
	// A millionth: sums of tenths of seconds are not exact.
	if !c.alarm && c.s >= limit.Seconds()-1e-6 && c.above >= c.during/2 {
		c.alarm = true
		return began
	}
	return nothing
}

// mean is that of v since the onset.
func (c *sum) mean() float64 { return c.values / c.during }

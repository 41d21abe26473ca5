package load

import (
	"sync/atomic"
	"time"
)

// clock counts nanoseconds from the start of a run on the monotonic clock. It also converts the kernel's timestamps,
// which are wall-clock times, to times of the run.
//
// The kernel slews the monotonic clock and the wall clock alike, so the offset between the two clocks changes only when
// the wall clock is set. The offset is measured continuously. A timestamp is rejected if it lies before the request was
// sent or after the read that returned the data.
type clock struct {
	start  time.Time
	wall   int64 // wall clock at start, ns since the epoch
	offset atomic.Int64
	moved  atomic.Int64 // largest change between consecutive measurements of the offset
}

func newClock() *clock {
	c := &clock{start: time.Now()}
	c.wall = c.distance()
	c.offset.Store(c.wall)
	return c
}

func (c *clock) now() int64 { return int64(time.Since(c.start)) }

// distance measures the wall clock minus the time since c.start. time.Now reads the two clocks one after the other, and
// an interruption between the two readings would falsify the result. So distance encloses each measurement between two
// readings of the monotonic clock, and returns the measurement with the shortest interval.
func (c *clock) distance() int64 {
	var best, narrowest int64
	for i := range 5 {
		before := time.Since(c.start)
		now := time.Now()
		width := int64(time.Since(c.start) - before)
		if i == 0 || width < narrowest {
			best, narrowest = now.UnixNano()-int64(now.Sub(c.start)), width
		}
	}
	return best
}

// watch measures the offset again and records the change of the offset.
func (c *clock) watch() {
	now := c.distance()
	if d := abs(now - c.offset.Load()); d > c.moved.Load() {
		c.moved.Store(d)
	}
	c.offset.Store(now)
}

// fromWall converts a wall-clock time to a time of the run.
func (c *clock) fromWall(ns int64) int64 { return ns - c.offset.Load() }

// drift returns by how much the wall clock has drifted against the monotonic clock since the start of the run.
func (c *clock) drift() int64 { return c.offset.Load() - c.wall }

func abs(x int64) int64 { return max(x, -x) }

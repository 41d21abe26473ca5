package load

import (
	"sync/atomic"
	"time"
)

// A clock counts nanoseconds from the start of a run on the monotonic clock, and
// turns the kernel's stamps, which are wall-clock times, into such.
//
// Both clocks of the kernel are slewed alike, so the distance between them
// changes only when somebody sets the wall clock. It is measured again all the
// time, and a stamp that it would put before the request or after its own read is
// not believed.
type clock struct {
	start  time.Time
	wall   int64 // at start, ns since the epoch
	offset atomic.Int64
	moved  atomic.Int64 // how far one measurement of the offset lay from the one before, at most
}

func newClock() *clock {
	c := &clock{start: time.Now()}
	c.wall = c.distance()
	c.offset.Store(c.wall)
	return c
}

func (c *clock) now() int64 { return int64(time.Since(c.start)) }

// distance measures wall time - monotonic time. time.Now reads both clocks, one
// after the other: the smallest of some distances, taken around the middle
// reading, has no interruption in it.
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

// watch measures the distance again.
func (c *clock) watch() {
	now := c.distance()
	if d := abs(now - c.offset.Load()); d > c.moved.Load() {
		c.moved.Store(d)
	}
	c.offset.Store(now)
}

// fromWall turns a wall-clock time into one of the run.
func (c *clock) fromWall(ns int64) int64 { return ns - c.offset.Load() }

// drift is by how much the wall clock ran from the monotonic one so far.
func (c *clock) drift() int64 { return c.offset.Load() - c.wall }

func abs(x int64) int64 { return max(x, -x) }

package load

import (
	"sync/atomic"
	"time"
)

// clock counts nanoseconds from the start of a run on the monotonic clock, and converts the kernel's stamps, which are
// wall-clock times.
//
// Both kernel clocks are slewed alike, so the distance between them changes only when the wall clock is set. It is
// measured continuously. A stamp that would fall before the request or after its own read is rejected.
type clock struct {
	start  time.Time
	wall   int64 // at start, ns since the epoch
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

// distance measures wall time - monotonic time. time.Now reads the two clocks one after the other. The narrowest of
// several measurements, taken around the middle reading, is free of interruptions.
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

// fromWall converts a wall-clock time to a time of the run.
func (c *clock) fromWall(ns int64) int64 { return ns - c.offset.Load() }

// drift returns the drift of the wall clock against the monotonic clock so far.
func (c *clock) drift() int64 { return c.offset.Load() - c.wall }

func abs(x int64) int64 { return max(x, -x) }

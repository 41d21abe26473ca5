// Package comm joins the ranks of a job: collectives and point-to-point
// messages over slices of bytes and float32.
//
// Comm is one rank's end of a group. Nothing but the contents of slices
// crosses it, so ranks may be goroutines of one process or of processes of
// several hosts.
// All members call the same operations in the same order; a call returns when
// this rank's part is done. Sums are formed in rank order, so that results do
// not depend on timing.
package comm

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// ErrAborted is in the chain of every error of a group that was ended: by a
// member that left or failed, by a context, or by operations that do not fit
// together.
var ErrAborted = errors.New("collective aborted")

// Group names the ranks that a Comm joins.
type Group struct {
	Name  string // as PyTorch numbers process groups: "0"
	Desc  string // "default_pg", "tp", …
	Ranks []int  // ranks of the job, in the order of the members
}

// Comm is one member's end of a group. An operation is called by one
// goroutine at a time; different members call side by side. The first error
// is final for the whole group: every later or waiting call of any member
// returns an error that wraps ErrAborted.
type Comm struct {
	hub    *hub
	rank   int
	closed bool
	slow   time.Duration // see Slow
}

// Group names the ranks.
func (c *Comm) Group() *Group { return &c.hub.group }

// Rank is this member's place in the group, from 0.
func (c *Comm) Rank() int { return c.rank }

// Size is how many members the group has.
func (c *Comm) Size() int { return len(c.hub.calls) }

// Slow makes the member's part of the next collectives take so much longer, once all have come, as a slow link does.
// Members in other processes are not slowed.
func (c *Comm) Slow(by time.Duration) { c.slow = by }

// AllReduce sums buf over all members, element by element, in place.
func (c *Comm) AllReduce(ctx context.Context, buf []float32) error {
	return c.hub.meet(ctx, c.rank, call{kind: allReduce, sum: buf, slow: c.slow})
}

// AllGather puts src of member i at i·len(src) in every dst;
// len(dst) = Size · len(src). src may be its own place in dst.
func (c *Comm) AllGather(ctx context.Context, dst, src []byte) error {
	if len(dst) != c.Size()*len(src) {
		return c.misfit("all-gather", len(dst), c.Size()*len(src))
	}
	return c.hub.meet(ctx, c.rank, call{kind: allGather, dst: dst, src: src, slow: c.slow})
}

// Ended is when the last collective was complete for all members, by
// Options.Now; 0: that is not known. What passes from then until the call
// returns, this member took to wake up.
func (c *Comm) Ended() int64 { return c.hub.complete.Load() }

// Abort ends every wait of every member with an error that wraps cause.
func (c *Comm) Abort(cause error) { c.hub.abort(cause) }

// Close leaves the group. Peers that still wait for this member get an
// error; that all leave one after the other is not an error.
func (c *Comm) Close() {
	h := c.hub
	h.mu.Lock()
	if c.closed {
		h.mu.Unlock()
		return
	}
	c.closed = true
	h.leave(c.rank)
	h.mu.Unlock()
	h.wake()
	if h.far != nil {
		h.far.part(c.rank)
	}
}

// misfit aborts the group, since the peers wait for a call that will not come.
func (c *Comm) misfit(what string, got, want int) error {
	c.hub.abort(fmt.Errorf("rank %d: %s of length %d where %d is needed", c.hub.group.Ranks[c.rank], what, got, want))
	return c.hub.failure()
}

// Number is what messages are made of.
type Number interface {
	float32 | int32 | uint32 | int64 | uint16 | uint8
}

// Bytes gives the memory of a slice of numbers as bytes, in the byte order of
// this machine.
func Bytes[T Number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(one)))
}

// Floats gives the memory of bytes that lie at a multiple of 4 as float32: the
// reverse of Bytes.
func Floats(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

func aborted(g *Group, cause error) error {
	if errors.Is(cause, ErrAborted) {
		return cause
	}
	return fmt.Errorf("group %s (%s): %w: %w", g.Name, g.Desc, ErrAborted, cause)
}

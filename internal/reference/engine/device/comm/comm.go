// Package comm connects the ranks of a job: collectives and point-to-point messages over slices of bytes and float32.
//
// A Comm is one rank's end of a group. Members exchange only the contents of slices. Therefore the ranks may be
// goroutines of one process or of several processes, even on different hosts. All members must call the same operations
// in the same order. A call returns when the calling rank's part is done. Sums are formed in rank order, so results do
// not depend on timing.
package comm

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// ErrAborted is in the chain of every error of an aborted group. A group is aborted when a member leaves or fails, when
// a context ends, or when operations do not match.
var ErrAborted = errors.New("collective aborted")

// Group names the ranks of a communicator.
type Group struct {
	Name  string // PyTorch's number of the process group, such as "0"
	Desc  string // "default_pg", "tp", …
	Ranks []int  // each member's rank in the job, in member order
}

// Comm is one member's end of a group. Only one goroutine may call its operations at a time; different members call
// concurrently. The first error is final for the whole group: every pending or later call of any member returns an
// error that wraps ErrAborted.
type Comm struct {
	hub    *hub
	rank   int
	closed bool
	slow   time.Duration // delay set by Slow
}

// Group returns the group.
func (c *Comm) Group() *Group { return &c.hub.group }

// Rank is this member's index in the group, from 0.
func (c *Comm) Rank() int { return c.rank }

// Size is the number of members.
func (c *Comm) Size() int { return len(c.hub.calls) }

// Slow simulates a slow link: it delays this member by the duration by in every subsequent collective, after all
// members have arrived. Slow does not delay members in other processes.
func (c *Comm) Slow(by time.Duration) { c.slow = by }

// AllReduce sums buf over all members, element by element, in place.
func (c *Comm) AllReduce(ctx context.Context, buf []float32) error {
	return c.hub.meet(ctx, c.rank, call{kind: allReduce, sum: buf, slow: c.slow})
}

// AllGather copies src of member i to offset i·len(src) of every dst; len(dst) = Size · len(src). src may alias the
// part of dst that it is copied to.
func (c *Comm) AllGather(ctx context.Context, dst, src []byte) error {
	if len(dst) != c.Size()*len(src) {
		return c.misfit("all-gather", len(dst), c.Size()*len(src))
	}
	return c.hub.meet(ctx, c.rank, call{kind: allGather, dst: dst, src: src, slow: c.slow})
}

// Ended returns the time, on the clock Options.Now, at which the last collective was complete for all members; 0:
// unknown. The interval between that time and the return of the collective's call is this member's wake-up time.
func (c *Comm) Ended() int64 { return c.hub.complete.Load() }

// Abort ends every wait of every member with an error that wraps cause.
func (c *Comm) Abort(cause error) { c.hub.abort(cause) }

// Close leaves the group. A peer that waits for this member, now or later, gets an error. If all members close and call
// no further operations, no member gets an error.
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

// misfit aborts the group after a member called with a wrong size. The peers would otherwise wait forever for a valid
// call.
func (c *Comm) misfit(what string, got, want int) error {
	c.hub.abort(fmt.Errorf("rank %d: %s has length %d; want %d", c.hub.group.Ranks[c.rank], what, got, want))
	return c.hub.failure()
}

// Number is an element type of messages.
type Number interface {
	float32 | int32 | uint32 | int64 | uint16 | uint8
}

// Bytes returns the memory of a slice of numbers as bytes, in this machine's byte order.
func Bytes[T Number](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(one)))
}

// Floats returns the memory of bytes, aligned to 4, as float32. It reverses Bytes.
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

// Package comm joins the ranks of a job: collectives and point-to-point
// messages over slices of bytes and float32.
//
// Comm is one rank's end of a group. It promises nothing about where the
// peers are: nothing but the contents of slices crosses it, so ranks may be
// goroutines of one process (NewGroup, here) or processes of several hosts.
// All members call the same operations in the same order; a call returns when
// this rank's part is done. Sums are formed in rank order, so that results do
// not depend on timing.
package comm

import (
	"context"
	"errors"
	"fmt"
	"unsafe"
)

// ErrAborted is in the chain of every error of a group that was ended: by a
// member that left or failed, by a context, or by operations that do not fit
// together.
var ErrAborted = errors.New("collective aborted")

// Reduction says how AllReduce and ReduceScatter combine elements.
type Reduction uint8

// The reductions.
const (
	Sum Reduction = iota
	Max
)

func (r Reduction) String() string { return [...]string{"Sum", "Max"}[r&1] }

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
type Comm interface {
	Group() *Group
	Rank() int // this member's place in the group, from 0
	Size() int

	// AllReduce combines buf over all members, element by element, in place.
	AllReduce(ctx context.Context, buf []float32, r Reduction) error
	// ReduceScatter combines src over all members and leaves the part of this
	// rank in dst; len(src) = Size · len(dst). dst may be that part of src.
	ReduceScatter(ctx context.Context, dst, src []float32, r Reduction) error
	// AllGather puts src of member i at i·len(src) in every dst;
	// len(dst) = Size · len(src). src may be its own place in dst.
	AllGather(ctx context.Context, dst, src []byte) error
	// AllToAll sends srcCounts[i] units of src to member i, one after the
	// other, and receives from all likewise; it writes how many units came
	// from whom to dstCounts. A unit has unit bytes. It is an error if dst
	// cannot hold them.
	AllToAll(ctx context.Context, dst []byte, dstCounts []int, src []byte, srcCounts []int, unit int) error
	// Broadcast copies buf of member root to all.
	Broadcast(ctx context.Context, buf []byte, root int) error
	// Send hands buf to member to. It may return before the receiver asks;
	// buf may be used again at once.
	Send(ctx context.Context, buf []byte, to int) error
	// Recv fills buf with the next message of member from, which must have
	// that length.
	Recv(ctx context.Context, buf []byte, from int) error
	Barrier(ctx context.Context) error

	// Ended is when the last collective was complete for all members, by
	// Options.Now; 0: that is not known. What passes from then until the call
	// returns, this member took to wake up.
	Ended() int64

	// Abort ends every wait of every member with an error that wraps cause.
	Abort(cause error)
	// Close leaves the group. Peers that still wait for this member get an
	// error; that all leave one after the other is not an error.
	Close() error
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

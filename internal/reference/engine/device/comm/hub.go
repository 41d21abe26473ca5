package comm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device/park"
)

// Options configure NewGroup. The zero value works.
type Options struct {
	Spin time.Duration // how long waits spin; 0: park.DefaultSpin; negative: not at all
	// Now is the clock that Ended uses; nil: Ended returns 0.
	Now func() int64
	// Add sets dst[i] = a[i] + b[i]. dst may be a. nil: plain Go.
	Add func(dst, a, b []float32)
	// Far lists the members in other processes; nil: none.
	Far *Far
}

// NewGroup joins len(ranks) goroutines and returns one Comm per rank, in the order of ranks. For ranks of other
// processes it returns nil; those processes call NewGroup too.
func NewGroup(name, desc string, ranks []int, opt Options) []*Comm {
	opt.Spin = cmp.Or(opt.Spin, park.DefaultSpin)
	if opt.Add == nil {
		opt.Add = add
	}
	h := &hub{
		group: Group{Name: name, Desc: desc, Ranks: slices.Clone(ranks)},
		opt:   opt, calls: make([]call, len(ranks)), boxes: make([]mailbox, len(ranks)*len(ranks)),
	}
	members := make([]*Comm, len(ranks))
	for i := range members {
		if opt.Far == nil || opt.Far.At[i] == opt.Far.Here {
			members[i] = &Comm{hub: h, rank: i}
		}
	}
	if opt.Far != nil {
		h.far = newFar(opt.Far)
		opt.Far.Line.Receive(h.deliver, h.abort)
	}
	return members
}

// hub is the meeting point of a group whose members share memory.
//
// A collective is a rendezvous: every member stores its slices in calls, and the last member to arrive checks that the
// calls match. If the message is small, the last member moves all of it, so that the other members are woken only once.
// If the message is large, every member moves a share.
type hub struct {
	group Group
	opt   Options

	mu      sync.Mutex // guards arrivals and err; held by the last member while it moves a small message
	arrived int
	left    int // members that have closed
	err     error
	ended   atomic.Bool   // err is set
	round   atomic.Uint64 // collectives that all members have begun
	shared  bool          // each member moves its share in this round; written by the last to arrive
	working atomic.Int32  // members still moving their share
	// complete is the time at which the last round ended. The next round overwrites it only after all members have
	// arrived for that round, so every member can read the time of the last round before then.
	complete atomic.Int64
	calls    []call // calls of this round, by member
	gate     park.Gate

	boxes []mailbox // [from·size + to]
	far   *far      // nil: all members are local
}

// shareFrom is the minimum number of moved bytes for which members share the work. For smaller messages, the second
// rendezvous that sharing requires costs more than sharing saves.
const shareFrom = 256 << 10

// kind is a kind of collective.
type kind uint8

const (
	allReduce kind = iota
	allGather
)

func (k kind) String() string { return [...]string{"all-reduce", "all-gather"}[k] }

// call is one member's input to a collective.
type call struct {
	kind     kind
	sum      []float32 // all-reduce
	dst, src []byte    // all-gather
	slow     time.Duration
	away     *[3]int // lengths of sum, dst and src of a member in another process; nil: a local member
}

// sizes are the lengths of sum, dst and src.
func (c *call) sizes() [3]int {
	if c.away != nil {
		return *c.away
	}
	return [3]int{len(c.sum), len(c.dst), len(c.src)}
}

// meet runs one collective for a member.
func (h *hub) meet(ctx context.Context, rank int, c call) error {
	if h.far != nil {
		return h.meetFar(ctx, rank, c)
	}
	size := len(h.calls)
	h.mu.Lock()
	if h.err != nil {
		defer h.mu.Unlock()
		return h.err
	}
	h.calls[rank] = c
	round := h.round.Load()
	h.arrived++
	if h.arrived == size {
		if err := h.check(); err != nil {
			err = h.fail(err)
			h.mu.Unlock()
			h.wake()
			return err
		}
		h.arrived = 0
		if h.shared = h.moved(c) >= shareFrom; h.shared {
			h.working.Store(int32(size))
		} else {
			for i := range size {
				h.move(i)
			}
			h.stamp()
		}
		h.round.Add(1)
		h.mu.Unlock()
		h.gate.Wake()
	} else {
		h.mu.Unlock()
		if err := h.wait(ctx, rank, round); err != nil {
			return err
		}
	}
	if h.shared {
		// All members have arrived and are working, so the wait below cannot hang. An abort during this wait takes
		// effect at the members' next call.
		h.move(rank)
		// Stamp before the members are released, because a released member may call Ended immediately.
		h.stamp()
		if h.working.Add(-1) == 0 {
			h.gate.Wake()
		} else {
			h.gate.Wait(func() bool { return h.working.Load() == 0 }, h.opt.Spin)
		}
	}
	return nil
}

// stamp records the current time as the end of the round. If members share the work, every member calls stamp, and the
// last call determines the time.
func (h *hub) stamp() {
	if h.opt.Now == nil {
		return
	}
	for now := h.opt.Now(); ; {
		was := h.complete.Load()
		if was >= now || h.complete.CompareAndSwap(was, now) {
			return
		}
	}
}

// wait returns when all members have arrived for the round or the group has ended.
func (h *hub) wait(ctx context.Context, rank int, round uint64) error {
	begun := func() bool { return h.round.Load() != round || h.ended.Load() }
	if !h.gate.Spin(begun, h.opt.Spin) {
		if ctx.Done() != nil {
			stop := context.AfterFunc(ctx, func() { h.abort(context.Cause(ctx)) })
			defer stop()
		}
		h.gate.Sleep(begun)
	}
	if h.round.Load() != round {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.round.Load() != round {
		return nil
	}
	if h.far == nil {
		h.arrived--
		h.calls[rank] = call{}
	}
	return h.err
}

// abort ends the group. The first cause is kept.
func (h *hub) abort(cause error) {
	h.mu.Lock()
	_ = h.fail(cause)
	h.mu.Unlock()
	h.wake()
}

// fail sets the group's error. The caller holds h.mu.
func (h *hub) fail(cause error) error {
	if h.err == nil {
		h.err = aborted(&h.group, cause)
		h.ended.Store(true)
		if h.far != nil {
			h.far.tell(cause)
		}
	}
	return h.err
}

func (h *hub) wake() {
	h.gate.Wake()
	for i := range h.boxes {
		h.boxes[i].gate.Wake()
	}
}

// failure returns the group's error.
func (h *hub) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// check returns an error if the members called different operations or passed sizes that do not match. The caller holds
// h.mu.
func (h *hub) check() error {
	first := &h.calls[0]
	for i := range h.calls {
		c := &h.calls[i]
		switch {
		case c.kind != first.kind:
			return fmt.Errorf("rank %d calls %s, but rank %d calls %s: all must call the same operation", h.group.Ranks[0], first.kind, h.group.Ranks[i], c.kind)
		case c.sizes() != first.sizes():
			return fmt.Errorf("%s with different sizes on ranks %d and %d", c.kind, h.group.Ranks[0], h.group.Ranks[i])
		}
	}
	return nil
}

// leave counts a member that has left. The caller holds h.mu.
func (h *hub) leave(rank int) {
	h.left++
	// Without an error, peers that wait now or arrive later would wait forever.
	if h.left < len(h.calls) || h.arrived > 0 {
		_ = h.fail(fmt.Errorf("rank %d has left", h.group.Ranks[rank]))
	}
}

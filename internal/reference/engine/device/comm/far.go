package comm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A group that spans several processes has a hub in each process. The last member to arrive in a process sends the
// calls of all members of that process, with their data, to every other process. The hubs there rebuild the calls from
// these frames. A round is completed by the last local member or by the goroutine that delivers the last frame. In both
// cases the work on the slices is the same as within one process. Therefore every process forms sums in rank order and
// gets the same bits.

// Line carries the frames of one group between processes.
type Line interface {
	// Send sends the parts, concatenated, to a process as one frame. The caller may reuse them when Send returns. Send may
	// wait for buffer space in the connection, but never for the receiver to handle the frame.
	Send(process int, parts ...[]byte) error
	// Receive sets the handler for frames of other processes. Frames of one process arrive in order; frames that arrived
	// before Receive was called are delivered then. A frame is aligned to 8 bytes and belongs to the handler until the
	// handler passes it to Free. lost is called when the connection to a process is lost.
	Receive(frame func(process int, frame []byte), lost func(error))
	Free(frame []byte)
}

// Far locates the members of a group that spans several processes.
type Far struct {
	Here int   // this process
	At   []int // the process of each member
	Line Line
}

// far is the part of a hub that concerns other processes.
type far struct {
	Far
	mine      []int   // members in this process
	of        [][]int // members of each process
	peers     []int   // the other processes
	notices   sync.WaitGroup
	here      int        // local members that have arrived; the following fields are guarded by hub.mu
	queue     [][][]byte // frames for later rounds, by process
	present   []bool     // processes whose calls are in hub.calls
	held      [][]byte   // frames that hub.calls refer to
	wordsSaid bool       // the cause of the group's end has been sent to the other processes
}

// Types of frames.
const (
	frameCalls byte = iota + 1 // calls of a process
	frameMail                  // a message
	frameTaken                 // a message was received
	frameAbort
	frameLeft
)

const frameHead = 8 // type, 0, two 16-bit numbers, padding

func newFar(f *Far) *far {
	x := &far{Far: *f}
	most := slices.Max(f.At)
	x.of, x.queue, x.present = make([][]int, most+1), make([][][]byte, most+1), make([]bool, most+1)
	for member, p := range f.At {
		x.of[p] = append(x.of[p], member)
	}
	for p, members := range x.of {
		if p != f.Here && len(members) > 0 {
			x.peers = append(x.peers, p)
		}
	}
	if f.Here <= most {
		x.mine = x.of[f.Here]
	}
	return x
}

func head(kind byte, a, b int) []byte {
	buf := make([]byte, frameHead)
	buf[0] = kind
	binary.LittleEndian.PutUint16(buf[2:], uint16(a))
	binary.LittleEndian.PutUint16(buf[4:], uint16(b))
	return buf
}

// meetFar is meet for a group that spans several processes.
func (h *hub) meetFar(ctx context.Context, rank int, c call) error {
	x := h.far
	h.mu.Lock()
	if h.err != nil {
		defer h.mu.Unlock()
		return h.err
	}
	h.calls[rank] = c
	round := h.round.Load()
	x.here++
	if x.here < len(x.mine) {
		h.mu.Unlock()
		return h.wait(ctx, rank, round)
	}
	x.here = 0
	parts := h.callParts()
	h.mu.Unlock()
	// The round cannot end before the local members count as arrived, and all local members wait for the end of the
	// round. Therefore their data does not change while it is being sent.
	for _, p := range x.peers {
		if err := x.Line.Send(p, parts...); err != nil {
			h.abort(err)
			return h.failure()
		}
	}
	h.mu.Lock()
	h.arrived += len(x.mine)
	h.advance()
	h.mu.Unlock()
	return h.wait(ctx, rank, round)
}

// advance takes the calls of other processes for this round and ends the round when all have arrived. The caller holds
// h.mu.
func (h *hub) advance() {
	x := h.far
	if h.err != nil {
		return
	}
	for _, p := range x.peers {
		if x.present[p] || len(x.queue[p]) == 0 {
			continue
		}
		frame := x.queue[p][0]
		x.queue[p] = x.queue[p][1:]
		if err := h.readCalls(p, frame); err != nil {
			_ = h.fail(fmt.Errorf("from process %d: %w", p, err))
			h.gate.Wake()
			return
		}
		x.present[p] = true
		x.held = append(x.held, frame)
		h.arrived += len(x.of[p])
	}
	if h.arrived < len(h.calls) {
		return
	}
	if err := h.check(); err != nil {
		_ = h.fail(err)
		h.gate.Wake()
		return
	}
	if c := &h.calls[0]; c.kind == allReduce {
		h.reduceAll(0, len(c.sum))
	} else {
		for _, i := range x.mine {
			h.move(i)
		}
	}
	h.stamp()
	for _, frame := range x.held {
		x.Line.Free(frame)
	}
	x.held = x.held[:0]
	clear(x.present)
	h.arrived = 0
	h.round.Add(1)
	h.gate.Wake()
}

// callHead is the size of the head of a member's call. After the frame's own head, a frame of calls contains a call
// head and the data for each member of the process, in order. Each call head and each piece of data is aligned to 8
// bytes.
const callHead = 16

var padding [8]byte

func padded(n int) int { return (n + 7) &^ 7 }

// brings returns the data of a member's call that the other members need.
func (c *call) brings() []byte {
	if c.kind == allReduce {
		return Bytes(c.sum)
	}
	return c.src
}

// callParts returns the parts of the frame with the local members' calls. The caller holds h.mu.
func (h *hub) callParts() [][]byte {
	parts := [][]byte{head(frameCalls, len(h.far.mine), 0)}
	for _, member := range h.far.mine {
		c := &h.calls[member]
		buf := make([]byte, callHead)
		buf[0] = byte(c.kind)
		for i, n := range c.sizes() {
			binary.LittleEndian.PutUint32(buf[4+4*i:], uint32(n))
		}
		parts = append(parts, buf)
		if b := c.brings(); len(b) > 0 {
			parts = append(parts, b)
			if pad := padded(len(b)) - len(b); pad > 0 {
				parts = append(parts, padding[:pad])
			}
		}
	}
	return parts
}

var errFrame = errors.New("a frame is truncated or has another version")

// readCalls sets the calls of a process's members from its frame. The caller holds h.mu.
func (h *hub) readCalls(process int, frame []byte) error {
	rest := frame[frameHead:]
	take := func(n int) []byte {
		if n < 0 || padded(n) > len(rest) {
			return nil
		}
		part := rest[:n:n]
		rest = rest[padded(n):]
		return part
	}
	if int(binary.LittleEndian.Uint16(frame[2:])) != len(h.far.of[process]) {
		return errFrame
	}
	for _, member := range h.far.of[process] {
		buf := take(callHead)
		if buf == nil || buf[0] > byte(allGather) {
			return errFrame
		}
		n := func(i int) int { return int(int32(binary.LittleEndian.Uint32(buf[4+4*i:]))) }
		c := call{kind: kind(buf[0]), away: &[3]int{n(0), n(1), n(2)}}
		size := n(2)
		if c.kind == allReduce {
			size = 4 * n(0)
		}
		data := take(size)
		if data == nil && size != 0 {
			return errFrame
		}
		if c.kind == allReduce {
			c.sum = Floats(data)
		} else {
			c.src = data
		}
		h.calls[member] = c
	}
	return nil
}

// deliver handles a frame of another process.
func (h *hub) deliver(process int, frame []byte) {
	x := h.far
	var a, b int
	ok := len(frame) >= frameHead && process < len(x.of)
	if ok {
		a, b = int(binary.LittleEndian.Uint16(frame[2:])), int(binary.LittleEndian.Uint16(frame[4:]))
		ok = a <= len(h.calls) && b < len(h.calls) && (frame[0] == frameCalls || a < len(h.calls)) && (frame[0] != frameTaken || len(frame) == frameHead+8)
	}
	if !ok {
		h.abort(fmt.Errorf("from process %d: %w", process, errFrame))
		return
	}
	switch frame[0] {
	case frameCalls:
		h.mu.Lock()
		if h.err == nil {
			x.queue[process] = append(x.queue[process], frame)
			h.advance()
		}
		failed := h.err != nil
		h.mu.Unlock()
		if failed {
			h.wake()
		}
		return // the frame is freed when its round is over
	case frameMail, frameTaken:
		box := &h.boxes[a*len(h.calls)+b]
		if frame[0] == frameMail {
			box.put(frame[frameHead:])
		} else {
			box.taken(int(binary.LittleEndian.Uint64(frame[frameHead:])))
		}
	case frameAbort:
		h.abort(errors.New(string(frame[frameHead:])))
	case frameLeft:
		h.mu.Lock()
		h.leave(a)
		h.mu.Unlock()
		h.wake()
	}
	x.Line.Free(frame)
}

// tell sends the cause of the group's end to the other processes, once. The caller holds h.mu. tell must not block,
// because the goroutine that delivers frames may call it.
func (x *far) tell(cause error) {
	if x.wordsSaid {
		return
	}
	x.wordsSaid = true
	x.notices.Go(func() {
		for _, p := range x.peers {
			_ = x.Line.Send(p, head(frameAbort, 0, 0), []byte(cause.Error()))
		}
	})
}

// part notifies the other processes that a local member has left.
func (x *far) part(member int) {
	for _, p := range x.peers {
		_ = x.Line.Send(p, head(frameLeft, member, 0))
	}
	x.notices.Wait()
}

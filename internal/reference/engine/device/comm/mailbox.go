package comm

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/reference/engine/device/park"
)

// mailbox holds messages that one rank has sent to another and that are not yet received. A sender continues while the
// mailbox has space, so that pipeline stages overlap. NCCL's channels also let a sender continue, for messages that fit
// their buffers.
type mailbox struct {
	mu    sync.Mutex
	queue [][]byte
	away  int // messages sent to another process and not yet received by the member there
	bytes int
	spare [][]byte
	gate  park.Gate
}

// A mailbox holds either one message of any size or several messages within these limits.
const (
	mailBytes = 4 << 20
	mailCount = 16
)

func (b *mailbox) room(n int) bool {
	count := len(b.queue) + b.away
	return count == 0 || count < mailCount && b.bytes+n <= mailBytes
}

// Send sends buf to member to. It may return before the receiver calls Recv; the caller may reuse buf at once.
func (c *Comm) Send(ctx context.Context, buf []byte, to int) error {
	h := c.hub
	if to < 0 || to >= c.Size() || to == c.rank {
		return c.misfit("send peer", to, c.Size())
	}
	b := &h.boxes[c.rank*c.Size()+to]
	for {
		if h.ended.Load() {
			return h.failure()
		}
		b.mu.Lock()
		if b.room(len(buf)) {
			if x := h.far; x != nil && x.At[to] != x.Here {
				b.away++
				b.bytes += len(buf)
				b.mu.Unlock()
				if err := x.Line.Send(x.At[to], head(frameMail, c.rank, to), buf); err != nil {
					h.abort(err)
					return h.failure()
				}
				return nil
			}
			b.keep(buf)
			b.mu.Unlock()
			b.gate.Wake()
			return nil
		}
		b.mu.Unlock()
		b.wait(ctx, h, func() bool { return b.room(len(buf)) })
	}
}

// keep adds a copy of a message. The caller holds b.mu.
func (b *mailbox) keep(buf []byte) {
	var msg []byte
	if n := len(b.spare); n > 0 {
		msg, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	b.queue = append(b.queue, append(msg[:0], buf...))
	b.bytes += len(buf)
}

// put adds a message from another process.
func (b *mailbox) put(buf []byte) {
	b.mu.Lock()
	b.keep(buf)
	b.mu.Unlock()
	b.gate.Wake()
}

// taken frees the space of a message that the other process has received.
func (b *mailbox) taken(bytes int) {
	b.mu.Lock()
	b.away--
	b.bytes -= bytes
	b.mu.Unlock()
	b.gate.Wake()
}

// Recv fills buf with the next message of member from, which must have the length of buf.
func (c *Comm) Recv(ctx context.Context, buf []byte, from int) error {
	h := c.hub
	if from < 0 || from >= c.Size() || from == c.rank {
		return c.misfit("receive peer", from, c.Size())
	}
	b := &h.boxes[from*c.Size()+c.rank]
	for {
		b.mu.Lock()
		if len(b.queue) > 0 {
			msg := b.queue[0]
			b.queue = append(b.queue[:0], b.queue[1:]...)
			b.bytes -= len(msg)
			fits := len(msg) == len(buf)
			copy(buf, msg)
			b.spare = append(b.spare, msg)
			b.mu.Unlock()
			b.gate.Wake()
			if x := h.far; x != nil && x.At[from] != x.Here {
				note := binary.LittleEndian.AppendUint64(head(frameTaken, from, c.rank), uint64(len(msg)))
				if err := x.Line.Send(x.At[from], note); err != nil {
					h.abort(err)
					return h.failure()
				}
			}
			if !fits {
				h.abort(fmt.Errorf("rank %d sent %d bytes, rank %d expects %d", h.group.Ranks[from], len(msg), h.group.Ranks[c.rank], len(buf)))
				return h.failure()
			}
			return nil
		}
		b.mu.Unlock()
		if h.ended.Load() {
			return h.failure()
		}
		b.wait(ctx, h, func() bool { return len(b.queue) > 0 })
	}
}

// wait returns when the mailbox is ready or the group has ended.
func (b *mailbox) wait(ctx context.Context, h *hub, ready func() bool) {
	look := func() bool {
		if h.ended.Load() {
			return true
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		return ready()
	}
	if b.gate.Spin(look, h.opt.Spin) {
		return
	}
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { h.abort(context.Cause(ctx)) })
		defer stop()
	}
	b.gate.Sleep(look)
}

package kvtransfer

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"
)

// sinkLink is a link of the sink.
type sinkLink struct {
	*link
	s   *Sink
	set setOf
	pair
	mates []*sinkLink // all links of the set, by index; every room needs all of them

	mu    sync.Mutex
	rooms map[uint64]*arrival // nil: the link has ended
	span  func(int64)         // ends the span of the blocks being received; nil: no span is open
	spans struct {            // identity of the open span
		room  uint64
		layer int
		bytes int64
	}
}

// arrival is the part of a room that a link has received.
type arrival struct {
	in    *Incoming
	next  []int // number of blocks received, per layer and head
	ended bool
}

func (s *Sink) link(key setOf, p pair) (*sinkLink, error) {
	c, w, err := s.dial(key.addr)
	if err != nil {
		return nil, err
	}
	stop := closeWith(s.life, c)
	defer stop()
	err = say(c, kindBind, bind{DP: key.from, Rank: p.from, Place: p.Place, Proof: proof(s.opt.Key, w.Nonce)})
	if err == nil {
		err = hear(c, kindPing, new(any))
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("the prefill worker at %s: %w", key.addr, err)
	}
	c.SetDeadline(time.Time{})
	return &sinkLink{link: newLink(c, &s.opt), s: s, set: key, pair: p, rooms: map[uint64]*arrival{}}, nil
}

// run reads from the link and writes to it until the link ends.
func (l *sinkLink) run() {
	stop := context.AfterFunc(l.s.life, func() { l.fail(errClosed) })
	defer stop()
	var writer sync.WaitGroup
	writer.Go(func() { l.write(nil) })
	l.read(l.frame)
	l.s.forget(l.set, l.mates)
	for _, m := range l.mates {
		m.fail(l.why())
	}
	writer.Wait()
	l.endSpan()
	l.mu.Lock()
	rooms := l.rooms
	l.rooms = nil
	l.mu.Unlock()
	if len(rooms) > 0 && l.s.life.Err() == nil {
		l.s.logs.Printf(l.s.opt.Log, "KV transfer: %v; %d requests ended", l.why(), len(rooms))
	}
	for _, a := range rooms {
		a.in.fail(l, fmt.Errorf("KV transfer failed: %w", l.why()))
	}
}

// frame handles one frame of the source.
func (l *sinkLink) frame(h header) error {
	l.mu.Lock()
	a := l.rooms[h.room]
	l.mu.Unlock()
	if h.kind == kindBlocks {
		return l.take(h, a)
	}
	l.endSpan()
	text, err := readPayload(l, h)
	if err != nil {
		return err
	}
	switch h.kind {
	case kindPing:
	case kindAbort:
		if a != nil {
			a.in.fail(l, fmt.Errorf("KV transfer failed: the prefill worker: %s", text))
		}
	case kindEnd:
		if a != nil {
			l.ended(a, text)
		}
	default:
		return fmt.Errorf("a frame of kind %d from a prefill worker", h.kind)
	}
	return nil
}

// take reads a frame of blocks into memory. If the room has ended, take discards the blocks.
func (l *sinkLink) take(h header, a *arrival) error {
	if a == nil || !a.in.use.begin() {
		l.endSpan()
		_, err := io.CopyN(io.Discard, l, int64(h.bytes))
		return err
	}
	in, page := a.in, l.s.w.Layout.Page
	defer in.use.end()
	if err := l.expected(h, a, page); err != nil {
		return err // the peer is not a source
	}
	in.mu.Lock()
	if in.begun.IsZero() {
		in.begun = time.Now()
	}
	in.mu.Unlock()
	r := &l.s.w.Ranks[in.dp][l.to]
	l.inSpan(r, h, in.request)
	sum := uint32(0)
	err := parts(r, h.layer, h.head, h.heads, in.blocks[h.first:h.first+h.blocks], func(p []byte) error {
		_, err := io.ReadFull(l, p)
		sum = crc32.Update(sum, castagnoli, p)
		return err
	})
	if err != nil {
		return err
	}
	l.spans.bytes += int64(h.bytes)
	if h.last {
		l.endSpan()
	}
	in.mu.Lock()
	in.bytes += int64(h.bytes)
	in.mu.Unlock()
	if sum != h.sum {
		in.fail(nil, fmt.Errorf("KV transfer failed: %w in layer %d", errPayload, h.layer))
		return nil
	}
	for i := range h.heads {
		a.next[(h.layer-l.Layers.Lo)*l.Heads.len()+h.head+i-l.Heads.Lo] += h.blocks
	}
	return nil
}

// expected returns an error unless a frame of blocks is the next one: each head must belong to this link, and the
// blocks of each head must arrive once and in order.
func (l *sinkLink) expected(h header, a *arrival, page int) error {
	switch {
	case !l.Layers.has(Span{h.layer, h.layer + 1}) || !l.Heads.has(Span{h.head, h.head + h.heads}):
		return fmt.Errorf("layer %d, heads %d to %d over a link of layers %v and heads %v", h.layer, h.head, h.head+h.heads, l.Layers, l.Heads)
	case h.blocks < 1 || h.first+h.blocks > len(a.in.blocks):
		return fmt.Errorf("blocks %d to %d of %d", h.first, h.first+h.blocks, len(a.in.blocks))
	case h.bytes != 2*page*h.heads*h.blocks:
		return fmt.Errorf("%d bytes for %d blocks of %d heads", h.bytes, h.blocks, h.heads)
	}
	for i := range h.heads {
		if have := a.next[(h.layer-l.Layers.Lo)*l.Heads.len()+h.head+i-l.Heads.Lo]; have != h.first {
			return fmt.Errorf("layer %d, head %d: block %d after %d blocks", h.layer, h.head+i, h.first, have)
		}
	}
	return nil
}

// ended records that this link has received all of its blocks of a room.
func (l *sinkLink) ended(a *arrival, last []byte) {
	in := a.in
	if a.ended {
		return
	}
	a.ended = true
	for _, n := range a.next {
		if n != len(in.blocks) {
			in.fail(nil, fmt.Errorf("KV transfer failed: %d of %d blocks arrived", n, len(in.blocks)))
			return
		}
	}
	in.mu.Lock()
	in.left--
	if l == in.links[0] {
		in.last = last
	}
	done, links := in.left == 0, in.links
	in.mu.Unlock()
	if !done || !in.finish(nil) {
		return
	}
	for _, l := range links {
		l.tell(kindAck, in.room, nil)
	}
}

// inSpan begins a span, unless the frame continues the open one.
func (l *sinkLink) inSpan(r *Rank, h header, request string) {
	if l.span != nil && l.spans.room == h.room && l.spans.layer == h.layer {
		return
	}
	l.endSpan()
	l.span = r.span(fmt.Sprintf("kv_recv layer=%d", h.layer), request, h.room)
	l.spans.room, l.spans.layer, l.spans.bytes = h.room, h.layer, 0
}

func (l *sinkLink) endSpan() {
	if l.span != nil {
		l.span(l.spans.bytes)
		l.span = nil
	}
}

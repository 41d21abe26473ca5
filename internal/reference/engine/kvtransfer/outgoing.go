package kvtransfer

import (
	"fmt"
	"sync"
	"time"
)

// Events are the callbacks of a room. Any goroutine may call them, and they must not block.
type Events struct {
	// Opened is called when the decode worker has memory for the prompt. If the room ends at the same time, Opened may
	// be called after Ended.
	Opened func()
	// Ended is called once, after the last read of the room's memory. A nil error means that the decode worker has
	// received everything.
	Ended func(error)
}

// Came records the arrival of a room's request. Expect may be called later than Came, because the scheduler calls
// Expect only between steps.
func (s *Source) Came(dp int, room uint64, request string) {
	s.mark(roomOf{dp, room}, "kv_wait", request)
}

// mark writes a copy of zero bytes to the first rank's trace. The copy marks a point in time that no step and no
// transfer in the trace shows.
func (s *Source) mark(key roomOf, name, request string) {
	s.w.Ranks[key.dp][0].span(name, request, key.room)(0)
}

// Expect announces a room for a request that has the given number of blocks.
func (s *Source) Expect(dp int, room uint64, request string, blocks int, ev Events) *Outgoing {
	o := &Outgoing{s: s, key: roomOf{dp, room}, request: request, blocks: blocks, ev: ev}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch m := s.meetings[o.key]; {
	case s.closed:
		err = errClosed
	case len(s.meetings) >= most:
		err = fmt.Errorf("%w: %d rooms are open", ErrBootstrap, most)
	case m != nil && m.refused != nil:
		err = m.refused
		s.remove(o.key, m)
	case m != nil && m.out != nil:
		err = fmt.Errorf("%w: room %d is taken by another request", ErrBootstrap, room)
	}
	if err != nil {
		go o.finish(err)
		return o
	}
	m := s.meet(o.key)
	m.out = o
	s.start(o.key, m)
	return o
}

// Refuse declares that no request of this room will be served, so that the decode worker stops waiting.
func (s *Source) Refuse(dp int, room uint64, reason error) { s.giveUp(roomOf{dp, room}, nil, reason) }

// Outgoing is the source's state of a room. Its methods do not block and are safe for concurrent use.
type Outgoing struct {
	s       *Source
	key     roomOf
	request string
	blocks  int
	ev      Events
	links   []*sourceLink // guarded by Source.mu until Opened, then fixed
	missing int           // acknowledgements that have not arrived; guarded by Source.mu
	use     use

	mu    sync.Mutex
	begun time.Time // when the first blocks were ready
	bytes int64
}

// Send sends blocks of a layer that a rank has computed. blocks[0] has index first in the request. The caller must not
// change the contents of the blocks after the call.
func (o *Outgoing) Send(rank, layer int, blocks []int32, first int) {
	if len(blocks) == 0 {
		return
	}
	o.mu.Lock()
	if o.begun.IsZero() {
		o.begun = time.Now()
	}
	o.mu.Unlock()
	for _, l := range o.links {
		if l.bind.Rank == rank && l.bind.Place.Layers.has(Span{layer, layer + 1}) {
			l.put(job{blocks: &blocksJob{out: o, layer: layer, blocks: blocks, first: first}})
		}
	}
}

// Finish declares that no more blocks follow. The decode worker's Sink passes last to its owner.
func (o *Outgoing) Finish(last []byte) {
	if len(last) > maxPayload {
		o.Abort(fmt.Errorf("the first token's record has %d bytes, at most %d can be sent", len(last), maxPayload))
		return
	}
	for i, l := range o.links {
		if i > 0 {
			last = nil
		}
		l.tell(kindEnd, o.key.room, last)
	}
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if m := o.s.meetings[o.key]; m != nil && m.out == o {
		m.timer = time.AfterFunc(o.s.opt.Waiting, func() {
			o.Abort(fmt.Errorf("the decode worker did not confirm the KV transfer within %v", o.s.opt.Waiting))
		})
	}
}

// Abort ends the room. It has no effect if the room has already ended.
func (o *Outgoing) Abort(reason error) {
	o.s.mu.Lock()
	m := o.s.meetings[o.key]
	mine := m != nil && m.out == o
	o.s.mu.Unlock()
	if mine {
		o.s.giveUp(o.key, nil, reason)
	}
}

// finish ends the room without notifying the sink.
func (o *Outgoing) finish(err error) {
	o.use.close(func() {
		if err == nil {
			o.mu.Lock()
			bytes, took := o.bytes, time.Since(o.begun)
			o.mu.Unlock()
			o.s.opt.Moved(bytes, took)
		}
		o.ev.Ended(err)
	})
}

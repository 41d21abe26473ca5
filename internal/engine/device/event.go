package device

import (
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/engine/device/park"
	"github.com/stepscope/stepscope/internal/engine/device/record"
)

// Event marks a point in a stream. It may be recorded again and again; who
// waits, waits for the last recording before.
type Event struct {
	d    *Device
	last uint64        // recordings asked for; the host's
	done atomic.Uint64 // recordings passed
	gate park.Gate
}

// NewEvent makes an event that no stream has recorded.
func (d *Device) NewEvent() *Event {
	e := &Event{d: d}
	e.gate.Yield = true
	return e
}

func (e *Event) pass(gen uint64) {
	e.done.Store(gen)
	e.gate.Wake()
}

// Record marks this point of the stream.
func (s *Stream) Record(e *Event) {
	if s.capture != nil {
		s.capture.refuse("an event")
		return
	}
	e.last++
	s.order(record.EventRecord, task{node: node{kind: recordNode}, event: e, gen: e.last})
}

// Wait makes the work launched from now on wait until e has passed.
func (s *Stream) Wait(e *Event) {
	if s.capture != nil {
		s.capture.refuse("an event")
		return
	}
	if e.last == 0 {
		return
	}
	s.order(record.StreamWaitEvent, task{node: node{kind: waitNode}, event: e, gen: e.last})
}

// Notify has f called, by the stream's executor, when what was launched before is
// done. f must not block. After a failure it is not called.
func (s *Stream) Notify(f func()) {
	if s.capture != nil {
		s.capture.refuse("a call of the host")
		return
	}
	s.order(record.EventRecord, task{node: node{kind: notifyNode, run: func(int) { f() }}})
}

func (s *Stream) order(api record.API, t task) {
	r, start := s.d.recorder(), int64(0)
	if r != nil {
		start = record.Now()
	}
	*s.slot() = t
	s.commit()
	if r != nil {
		s.d.host.call(r, api, start, false)
	}
}

// Synchronize returns when the event has passed.
func (e *Event) Synchronize() error {
	r, start, gen := e.d.recorder(), int64(0), e.last
	if r != nil {
		start = record.Now()
	}
	e.gate.Wait(func() bool { return e.done.Load() >= gen }, e.d.opt.Spin)
	if r != nil {
		e.d.host.call(r, record.EventSynchronize, start, false)
	}
	return e.d.Err()
}

// Passed tells whether the event has passed.
func (e *Event) Passed() bool { return e.done.Load() >= e.last }

package kvtransfer

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/loglimit"
)

// ErrBootstrap is in the chain of errors of rooms that ended before both sides had announced them.
var ErrBootstrap = errors.New("the workers could not be paired")

// Source is the prefill worker's end of all transfers. Its methods are safe for concurrent use.
type Source struct {
	w   Worker
	opt Options

	logs loglimit.Lines // limits the log lines that peers can cause

	mu       sync.Mutex
	meetings map[roomOf]*meeting
	conns    map[net.Conn]bool
	closed   bool
	threads  sync.WaitGroup
}

type roomOf struct {
	dp   int
	room uint64
}

// meeting is a room that has been announced by the source's request, by the sink, or by both.
type meeting struct {
	out     *Outgoing     // nil: the request has not arrived
	links   []*sourceLink // by index in the room
	have    int           // number of links that are ready
	blocks  int
	refused error // the reason for which one worker gave up the room before the other announced it; nil: not given up
	timer   *time.Timer
}

// most limits the number of open rooms and of open links. A legitimate peer, which knows the key, never opens more
// rooms than it has running requests.
const most = 1 << 16

// NewSource returns the source of a worker. The caller must call Serve and Close.
func NewSource(w Worker, opt Options) (*Source, error) {
	if err := w.Layout.check(); err != nil {
		return nil, err
	}
	return &Source{w: w, opt: opt.withDefaults(), meetings: map[roomOf]*meeting{}, conns: map[net.Conn]bool{}}, nil
}

// Serve accepts links until the listener is closed.
func (s *Source) Serve(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // for example too many open files: wait until some are closed
			s.logs.Printf(s.opt.Log, "KV transfer: %v", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		ok := !s.closed && len(s.conns) < most
		if ok {
			s.conns[c] = true
			s.threads.Go(func() { s.serve(c) })
		}
		s.mu.Unlock()
		if !ok {
			c.Close()
		}
	}
}

// Close ends all links and rooms. It does not close listeners.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		c.Close()
	}
	var outs []*Outgoing
	for key, m := range s.meetings {
		if m.out != nil {
			outs = append(outs, m.out)
		}
		s.remove(key, m)
	}
	s.mu.Unlock()
	for _, o := range outs {
		o.finish(errClosed)
	}
	s.threads.Wait()
}

// meet finds or creates a room. A new room ends unless the other worker announces it within Options.Bootstrap. The
// caller holds s.mu.
func (s *Source) meet(key roomOf) *meeting {
	m := s.meetings[key]
	if m == nil {
		m = &meeting{}
		s.meetings[key] = m
		m.timer = time.AfterFunc(s.opt.Bootstrap, func() { s.late(key, m) })
	}
	return m
}

// remove removes a room. The caller holds s.mu.
func (s *Source) remove(key roomOf, m *meeting) {
	m.timer.Stop()
	if s.meetings[key] == m {
		delete(s.meetings, key)
	}
	for _, l := range m.links {
		if l != nil {
			l.leave(key.room)
		}
	}
}

// opened records that a sink has announced a room on a link.
func (s *Source) opened(key roomOf, l *sourceLink, o open) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(err error) { l.tell(kindAbort, key.room, []byte(err.Error())) }
	m := s.meetings[key]
	switch {
	case s.closed:
		refuse(errClosed)
		return
	case m == nil && len(s.meetings) >= most:
		refuse(fmt.Errorf("%d rooms are open", most))
		return
	}
	m = s.meet(key)
	if m.refused != nil {
		refuse(m.refused)
		return
	}
	if m.links == nil {
		m.links, m.blocks = make([]*sourceLink, o.Links), o.Blocks
	}
	if len(m.links) != o.Links || m.blocks != o.Blocks || m.links[o.Link] != nil {
		refuse(fmt.Errorf("room %d is taken", key.room))
		return
	}
	if l.join(key.room) {
		m.links[o.Link] = l
		if m.have++; m.have == len(m.links) {
			s.mark(key, "kv_open", "")
		}
	}
	s.start(key, m)
}

// start begins the transfer if the request has arrived and all links are ready. The caller holds s.mu.
func (s *Source) start(key roomOf, m *meeting) {
	if m.out == nil || m.links == nil || m.have < len(m.links) {
		return
	}
	m.timer.Stop()
	o := m.out
	if m.blocks != o.blocks {
		err := fmt.Errorf("%w: the prompt has %d blocks here and %d at the other worker", ErrBootstrap, o.blocks, m.blocks)
		go s.giveUp(key, nil, err)
		return
	}
	o.links, o.missing = m.links, len(m.links)
	go o.ev.Opened()
}

// late ends a room that only one worker has announced within the time limit.
func (s *Source) late(key roomOf, m *meeting) {
	s.mu.Lock()
	if s.meetings[key] != m || m.out != nil && m.out.links != nil {
		s.mu.Unlock()
		return
	}
	refused := m.refused != nil
	if refused {
		s.remove(key, m)
	}
	s.mu.Unlock()
	if !refused {
		s.giveUp(key, nil, fmt.Errorf("%w: room %d was not announced by both sides within %v", ErrBootstrap, key.room, s.opt.Bootstrap))
	}
}

// giveUp ends a room and notifies the sink on all links except from. If only one worker has announced the room, the
// other worker is notified when it announces the room.
func (s *Source) giveUp(key roomOf, from *sourceLink, err error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	m := s.meetings[key]
	if m == nil {
		if len(s.meetings) < most {
			s.meet(key).refused = err
		}
		s.mu.Unlock()
		return
	}
	o := m.out
	known := m.refused != nil || from != nil && o != nil // both workers know that the room has ended
	for _, l := range m.links {
		if l != nil && l != from {
			l.tell(kindAbort, key.room, []byte(err.Error()))
			known = known || from == nil
		}
	}
	s.remove(key, m)
	if !known {
		s.meet(key).refused = err
	}
	s.mu.Unlock()
	if o != nil {
		o.finish(err)
	}
}

// acked records that a sink has acknowledged all blocks of one link.
func (s *Source) acked(key roomOf) {
	s.mu.Lock()
	m := s.meetings[key]
	if m == nil || m.out == nil || m.out.links == nil {
		s.mu.Unlock()
		return
	}
	o := m.out
	o.missing--
	done := o.missing == 0
	if done {
		s.remove(key, m)
	}
	s.mu.Unlock()
	if done {
		o.finish(nil)
	}
}

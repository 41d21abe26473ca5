package sched

import (
	"context"

	"github.com/stepscope/stepscope/internal/api"
)

// Handle is a submitted request.
type Handle struct {
	s *Scheduler
	q *seq
}

// Submit queues a request. Any goroutine may call it. The loop calls the request's Emit for each event. The last event
// has a Finish.
func (s *Scheduler) Submit(r *Request) (*Handle, error) {
	q := newSeq(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, api.ErrUnavailable
	case s.opt.Priority.Refuse && !s.opt.Priority.Enabled && r.Priority != nil:
		return nil, api.ErrPriority
	case s.opt.MaxQueued > 0 && s.queued >= s.opt.MaxQueued && !s.opt.Priority.Enabled:
		return nil, api.ErrQueueFull
	}
	s.arrival++
	q.arrival, q.rank = s.arrival, s.opt.Priority.rank(&r.Request)
	s.queued++
	s.adds = append(s.adds, q)
	s.busyNow()
	s.signal()
	return &Handle{s, q}, nil
}

// Abort makes the loop end the request soon. It has no effect if the request has already ended. Any goroutine may call
// it.
func (h *Handle) Abort(f api.Finish) {
	h.s.Do(func() {
		if h.q.done {
			return
		}
		h.s.abort(h.q, f)
	})
}

// Do makes the loop call f between two steps. After Stop, Do returns false and f is never called. Any goroutine may
// call it.
func (s *Scheduler) Do(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.inbox = append(s.inbox, f)
	s.signal()
	return true
}

// Stop makes Run end after the current step. Functions that were passed to Do before Stop still run. Remaining requests
// are aborted. Any goroutine may call it.
func (s *Scheduler) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.signal()
}

// busyNow marks the scheduler as busy. The caller holds s.mu.
func (s *Scheduler) busyNow() {
	if s.isIdle {
		s.isIdle = false
		s.idle = make(chan struct{})
	}
}

// nowIdle marks the scheduler as idle. The caller holds s.mu.
func (s *Scheduler) nowIdle() {
	if !s.isIdle {
		s.isIdle = true
		close(s.idle)
	}
}

// Idle waits until no request is queued or running, or ctx ends. Any goroutine may call it.
func (s *Scheduler) Idle(ctx context.Context) error {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Count returns the number of forward steps so far. Only functions passed to Do may call it.
func (s *Scheduler) Count() int64 { return s.count }

// Flush drops all cached prefixes if no request is queued or running, and reports whether it did. Any goroutine may
// call it.
func (s *Scheduler) Flush() bool {
	done := make(chan bool, 1)
	if !s.Do(func() {
		if s.busy() || !s.away.empty() {
			done <- false
			return
		}
		s.cache.Flush()
		s.note() // the caller may read the statistics
		done <- true
	}) {
		return false
	}
	return <-done
}

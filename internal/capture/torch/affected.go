package torch

import (
	"context"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// Affected returns the time in which a window may have slowed its servers. It begins just before the first server was
// asked to start or, with a start step, at the last look before that step. It ends when the last server has written all
// its traces: when its stop has returned or, if it ends its window by itself, when the files of all ranks have stopped
// growing. known is false until that has been observed, as for an open window or a server that does not report its
// number of ranks. from is zero if nothing was started.
func (s *Session) Affected() (from, to time.Time, known bool) {
	known = true
	for _, m := range s.members {
		m.mu.Lock()
		armed, closed := m.armed, m.closed
		m.mu.Unlock()
		if armed.IsZero() {
			continue
		}
		if from.IsZero() || armed.Before(from) {
			from = armed
		}
		if closed.After(to) {
			to = closed
		}
		known = known && !closed.IsZero()
	}
	return from, to, known
}

// touch records when the profiler was armed; zero: it was not.
func (m *member) touch(armed time.Time) {
	m.mu.Lock()
	m.armed = armed
	m.mu.Unlock()
}

// written records when everything was written. The first call counts: a later stop, sent as a precaution, ends nothing.
func (m *member) written(at time.Time) {
	m.mu.Lock()
	if m.closed.IsZero() {
		m.closed = at
	}
	m.mu.Unlock()
}

// guardFiles detects when a window that closes by itself has been written. It reads no file, since that would take time
// from a server being measured on the same machine.
func (m *member) guardFiles(ctx context.Context) {
	between := guardEvery
	if m.o.Fetch != nil && m.kind != Stepscope { // each look runs a command
		between = maxWait
	}
	m.untilStart(ctx)
	if !m.traced() && !slices.Contains(m.w.activities(), "MEM") {
		return // an external profiler writes elsewhere: the end cannot be detected, so the window stays open
	}
	w := &watch{m: m, src: m.src, expected: m.expected(), seen: map[string]*seen{}, changed: time.Now()}
	for m.recording() && pause.For(ctx, between) {
		changed, err := w.look(ctx)
		if err != nil {
			return // Collect reports the error
		}
		if changed {
			w.changed = time.Now()
		}
		says, ok := w.src.(interface{ Closed() bool })
		if w.complete() && (ok && says.Closed() || time.Since(w.changed) >= settled) {
			m.written(w.changed)
			m.record(false)
			m.mu.Lock()
			m.sizes = w.seen
			m.mu.Unlock()
		}
	}
}

// untilStart returns when the window's start step may have been reached. Nothing is recorded before, so that time is
// not affected.
func (m *member) untilStart(ctx context.Context) {
	for m.w.StartStep > 0 && m.recording() {
		now := time.Now()
		counts := m.forwardCounts(ctx)
		if len(counts) == 0 || slices.Max(counts)+1 >= float64(m.w.StartStep) {
			return
		}
		m.touch(now)
		if !pause.For(ctx, guardEvery) {
			return
		}
	}
}

// recheck resets the end found by guardFiles if files have grown since.
func (m *member) recheck(now map[string]*seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.sizes {
		if now[name] == nil || now[name].size != s.size {
			m.closed = time.Time{}
		}
	}
}

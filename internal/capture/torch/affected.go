package torch

import (
	"context"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// Touched is the time in which a window may have slowed its servers down: from just
// before the first was asked to start, or if it has a start step from the last look at
// which that was still to come, until the last has written all of its traces. That
// is when its stop has returned, or where it ends its window by itself, when the files
// of all ranks were seen to grow no more. known is false while that was not seen, as of
// a window that is open, or of a server that does not say how many ranks it has; from is
// zero if nothing was started.
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

// touch notes when the profiler was armed, or that it was not.
func (m *member) touch(armed time.Time) {
	m.mu.Lock()
	m.armed = armed
	m.mu.Unlock()
}

// written notes when all was written. What was seen first counts: a stop that comes
// later, to make sure, ends nothing.
func (m *member) written(at time.Time) {
	m.mu.Lock()
	if m.closed.IsZero() {
		m.closed = at
	}
	m.mu.Unlock()
}

// guardFiles sees when a window that closes by itself has been written. It reads no file:
// that takes time from a server on the same machine, which is being measured.
func (m *member) guardFiles(ctx context.Context) {
	between := guardEvery
	if m.o.Fetch != nil && m.kind != Stepscope { // each look runs a command
		between = maxWait
	}
	m.untilStart(ctx)
	if !m.traced() && !slices.Contains(m.w.activities(), "MEM") {
		return // an outer profiler writes its files elsewhere: nothing tells when the window has ended, so it stays open
	}
	w := &watch{m: m, src: m.src, expected: m.expected(), seen: map[string]*seen{}, changed: time.Now()}
	for m.recording() && pause.For(ctx, between) {
		changed, err := w.look(ctx)
		if err != nil {
			return // Collect says why
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

// untilStart returns when the start step of a window may have been reached. Nothing is
// recorded before, so the time until then was not touched.
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

// recheck takes back what guardFiles saw if files have grown since.
func (m *member) recheck(now map[string]*seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.sizes {
		if now[name] == nil || now[name].size != s.size {
			m.closed = time.Time{}
		}
	}
}

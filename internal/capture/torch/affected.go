package torch

import (
	"context"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// Affected returns the time in which a window may have slowed its servers. The time begins just before the first server
// was asked to start. If there is a start step, the time begins at the last query before that step. The time ends when
// the last server has written all traces. This is the moment at which the stop request has returned. If the server ends
// the window by itself, it is the moment at which the files of all ranks have stopped growing. The result known is
// false until this end has been observed: while a window is open, and for a server that does not report its number of
// ranks. The result from is zero if no profiler was started.
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

// touch records the time at which the profiler was armed. A zero time means that the profiler was not armed.
func (m *member) touch(armed time.Time) {
	m.mu.Lock()
	m.armed = armed
	m.mu.Unlock()
}

// written records the time at which all files were written. Only the first call has an effect, because a later stop is
// only a precaution and does not end a window.
func (m *member) written(at time.Time) {
	m.mu.Lock()
	if m.closed.IsZero() {
		m.closed = at
	}
	m.mu.Unlock()
}

// guardFiles detects when a window that closes by itself has been written. It does not read the files, because reading
// would slow a server that is being measured on the same machine.
func (m *member) guardFiles(ctx context.Context) {
	between := guardEvery
	if m.byCommand() { // each listing would run a command
		between = maxWait
	}
	m.untilStart(ctx)
	if !m.traced() && !slices.Contains(m.w.activities(), "MEM") {
		// An external profiler writes to another directory. The end cannot be detected, so the window counts as open.
		return
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

// untilStart returns when the window's start step may have been reached. The server records nothing before that step,
// so the time before it is not affected.
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

// recheck resets the end that guardFiles found if files have grown since then.
func (m *member) recheck(now map[string]*seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.sizes {
		if now[name] == nil || now[name].size != s.size {
			m.closed = time.Time{}
		}
	}
}

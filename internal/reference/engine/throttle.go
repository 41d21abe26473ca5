package engine

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// throttle keeps the writing of traces from delaying requests. The writing consists of pieces of a fraction of a
// millisecond. After each piece the writing goroutine sleeps, so that all writing goroutines together use 1/(restShare
// + 1) of one core. A lower thread priority would not help: a low-priority thread that runs Go holds one of the
// GOMAXPROCS slots even while the kernel keeps it waiting.
type throttle struct {
	busy  func() bool // reports whether requests are running
	mu    sync.Mutex
	until time.Time // when the writers have slept long enough for the work done so far
}

const (
	restShare = 4
	// shortRest is the shortest sleep, because timers are not more precise.
	shortRest = 200 * time.Microsecond
	// longPiece is the maximum time that is counted as work for one piece. In a longer piece, the goroutine waited for a
	// core.
	longPiece = 2 * time.Millisecond
)

// rest sleeps after a piece of work. Any goroutine may call it.
func (p *throttle) rest(worked time.Duration) {
	if !p.busy() {
		runtime.Gosched()
		return
	}
	p.mu.Lock()
	now := time.Now()
	if p.until.Before(now) {
		p.until = now
	}
	p.until = p.until.Add(restShare * min(worked, longPiece))
	wait := p.until.Sub(now)
	p.mu.Unlock()
	if wait >= shortRest {
		time.Sleep(wait)
	}
}

// serving reports whether any requests are running, which writing could delay.
func (e *Engine) serving() bool {
	return !e.draining.Load() && slices.ContainsFunc(e.ranks, func(r *dpRank) bool { return r.Stats().Running > 0 })
}

package engine

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// throttle keeps the writing of traces from delaying requests. Writing is divided into pieces that take a fraction of a
// millisecond. After each piece the writing goroutine sleeps, so that all writing goroutines together use 1/(restShare
// + 1) of one core. A lower thread priority would not help, because a low-priority thread that runs Go code occupies
// one of the GOMAXPROCS slots even while it waits for a core.
type throttle struct {
	busy  func() bool // reports whether requests are running
	mu    sync.Mutex
	until time.Time // time at which the writers have slept long enough for their work so far
}

const (
	restShare = 4
	// shortRest is the minimum duration of a sleep, because timers are not more precise than that.
	shortRest = 200 * time.Microsecond
	// longPiece is the maximum time that is counted as work for one piece. If a piece takes longer, the goroutine
	// waited for a core.
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

// serving reports whether any requests are running. The writing of files could delay such requests.
func (e *Engine) serving() bool {
	return !e.draining.Load() && slices.ContainsFunc(e.ranks, func(r *dpRank) bool { return r.Stats().Running > 0 })
}

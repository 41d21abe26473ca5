package engine

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// pace keeps the writing of traces from holding up what is served meanwhile. The
// work comes in pieces of a fraction of a millisecond; behind each its goroutine
// sleeps, so that all of them together take one part of one core in restShare + 1.
// Lower priority for their threads would not do: a thread of low priority that runs
// Go holds one of the places to run Go (GOMAXPROCS) also while the kernel keeps it
// waiting.
type throttle struct {
	busy  func() bool // whether anything is served
	mu    sync.Mutex
	until time.Time // when what was worked so far is rested
}

const (
	restShare = 4
	// shortRest is the least rest: timers are no more exact.
	shortRest = 200 * time.Microsecond
	// longPiece bounds what counts as work: what took longer waited for a core.
	longPiece = 2 * time.Millisecond
)

// rest follows a piece of work. Any goroutine may call it.
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

// serving tells whether requests run that a stall would hold up.
func (e *Engine) serving() bool {
	return !e.draining.Load() && slices.ContainsFunc(e.ranks, func(r *dpRank) bool { return r.Stats().Running > 0 })
}

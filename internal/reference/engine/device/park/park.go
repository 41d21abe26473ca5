// Package park waits as a device runtime must: a short spin, because what one
// waits for is often microseconds away, and then sleep, because ranks may
// outnumber cores and a spinning thread would hold up the one it waits for.
//
// No more goroutines spin at a time than there are processors but one; who
// finds no place among them sleeps at once. So a spin never takes the last
// processor from the work it waits for.
package park

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSpin is how long a wait spins: about what it costs to put a thread to
// sleep and wake it again.
const DefaultSpin = 20 * time.Microsecond

var (
	places   = int32(runtime.GOMAXPROCS(0)) - 1
	spinners atomic.Int32
)

// A Gate holds goroutines back until a condition is true. The zero value is
// ready. Whoever makes the condition true publishes it by an atomic store or
// under a lock, and then calls Wake.
type Gate struct {
	waiters atomic.Int32
	mu      sync.Mutex
	cond    sync.Cond
}

// Wake lets all waiters look again. It costs one load when nobody sleeps.
func (g *Gate) Wake() {
	if g.waiters.Load() == 0 {
		return
	}
	g.mu.Lock()
	g.cond.Broadcast()
	g.mu.Unlock()
}

// Wait returns when ready does: after spinning for at most spin, asleep.
func (g *Gate) Wait(ready func() bool, spin time.Duration) {
	if !g.Spin(ready, spin) {
		g.Sleep(ready)
	}
}

// Spin looks until ready or the time is over, and tells which.
func (g *Gate) Spin(ready func() bool, spin time.Duration) bool {
	if ready() {
		return true
	}
	if spin <= 0 {
		return false
	}
	// About a microsecond is free: the shortest waits end in it, and who has
	// just been let go gives back its place in it.
	for range 300 {
		if ready() {
			return true
		}
	}
	if spinners.Add(1) > places {
		spinners.Add(-1)
		return ready()
	}
	defer spinners.Add(-1)
	for start := time.Now(); time.Since(start) < spin; {
		for range 32 {
			if ready() {
				return true
			}
		}
		runtime.Gosched()
	}
	return ready()
}

// Sleep waits without spinning.
func (g *Gate) Sleep(ready func() bool) {
	g.mu.Lock()
	if g.cond.L == nil {
		g.cond.L = &g.mu
	}
	// Counted before the last look: either Wake sees the waiter, or the waiter
	// sees what was published before Wake.
	g.waiters.Add(1)
	for !ready() {
		g.cond.Wait()
	}
	g.waiters.Add(-1)
	g.mu.Unlock()
}

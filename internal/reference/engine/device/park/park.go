// Package park waits as a device runtime must. It spins briefly, because the condition is often microseconds away. Then
// it sleeps, because ranks may outnumber cores and a spinning thread would hold up the one it waits for.
//
// At most GOMAXPROCS − 1 goroutines spin at a time; any other sleeps at once. So a spin never takes the last processor
// from the work it waits for.
package park

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSpin is how long a wait spins: about the cost of putting a thread to sleep and waking it.
const DefaultSpin = 20 * time.Microsecond

var (
	places   = int32(runtime.GOMAXPROCS(0)) - 1
	spinners atomic.Int32
)

// Gate holds goroutines back until a condition is true. The zero value is ready. The goroutine that makes the condition
// true publishes it by an atomic store or under a lock, and then calls Wake.
type Gate struct {
	waiters atomic.Int32
	mu      sync.Mutex
	cond    sync.Cond
}

// Wake makes all waiters check again. It costs one load when nobody sleeps.
func (g *Gate) Wake() {
	if g.waiters.Load() == 0 {
		return
	}
	g.mu.Lock()
	g.cond.Broadcast()
	g.mu.Unlock()
}

// Wait returns when ready does. It spins for at most spin, then sleeps.
func (g *Gate) Wait(ready func() bool, spin time.Duration) {
	if !g.Spin(ready, spin) {
		g.Sleep(ready)
	}
}

// Spin polls until ready or for at most spin, and reports whether ready returned true.
func (g *Gate) Spin(ready func() bool, spin time.Duration) bool {
	if ready() {
		return true
	}
	if spin <= 0 {
		return false
	}
	// About a microsecond is free: the shortest waits end in it, and a goroutine that was just released gives back its
	// place meanwhile.
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
	// The counter is raised before the last check: either Wake sees the waiter, or the waiter sees the state published
	// before Wake.
	g.waiters.Add(1)
	for !ready() {
		g.cond.Wait()
	}
	g.waiters.Add(-1)
	g.mu.Unlock()
}

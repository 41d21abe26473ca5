// Package park implements the waiting of a device runtime. A wait first spins briefly, because the condition often
// becomes true within microseconds. Then the wait sleeps: if ranks outnumber cores, a spinning thread would occupy the
// core that the awaited thread needs.
//
// At most GOMAXPROCS − 1 goroutines spin at a time; further goroutines sleep immediately. Therefore spinning never
// occupies all processors.
package park

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSpin is the default duration of spinning. It is about the time that it takes to put a thread to sleep and wake
// it again.
const DefaultSpin = 20 * time.Microsecond

var (
	places   = int32(runtime.GOMAXPROCS(0)) - 1
	spinners atomic.Int32
)

// Gate holds goroutines back until a condition is true. The zero value is ready. The goroutine that makes the condition
// true publishes the change by an atomic store or under a lock, and then calls Wake.
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

// Wait returns when ready returns true. It spins for at most the duration spin, then sleeps.
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
	// Poll for about a microsecond without counting as a spinner. The shortest waits end within that microsecond.
	// During it, goroutines that have just been released also return their spinner slots.
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
	// Increase the counter before the last check, so that either Wake sees the waiter, or the waiter sees the state
	// that was published before Wake.
	g.waiters.Add(1)
	for !ready() {
		g.cond.Wait()
	}
	g.waiters.Add(-1)
	g.mu.Unlock()
}

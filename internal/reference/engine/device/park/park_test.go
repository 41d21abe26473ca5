package park

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPingPong passes a turn back and forth; a lost wake-up would hang it.
func TestPingPong(t *testing.T) {
	for name, spin := range map[string]time.Duration{"sleeping": 0, "spinning": DefaultSpin, "longer": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			const rounds = 5000
			var a, b Gate
			var turn atomic.Int64
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := int64(0); i < rounds; i++ {
					a.Wait(func() bool { return turn.Load() == 2*i }, spin)
					turn.Add(1)
					b.Wake()
				}
			})
			wg.Go(func() {
				for i := int64(0); i < rounds; i++ {
					b.Wait(func() bool { return turn.Load() == 2*i+1 }, spin)
					turn.Add(1)
					a.Wake()
				}
			})
			wg.Wait()
			if got := turn.Load(); got != 2*rounds {
				t.Errorf("%d turns; want %d", got, 2*rounds)
			}
		})
	}
}

// TestManyWaiters checks that one Wake releases all waiters.
func TestManyWaiters(t *testing.T) {
	var g Gate
	var open atomic.Bool
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { g.Wait(open.Load, 0) })
	}
	for g.waiters.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	open.Store(true)
	g.Wake()
	wg.Wait()
	if n := g.waiters.Load(); n != 0 {
		t.Errorf("%d waiters left", n)
	}
}

// TestPlaces checks that spinning never takes every processor, and that places are returned.
func TestPlaces(t *testing.T) {
	before := spinners.Load()
	spinners.Add(places + 1)
	var g Gate
	looks := 0
	g.Spin(func() bool { looks++; return false }, time.Hour)
	spinners.Add(-places - 1)
	if looks != 302 {
		t.Errorf("looked %d times without a place to spin; want 302", looks)
	}
	if spinners.Load() != before {
		t.Errorf("%d places taken", spinners.Load()-before)
	}
}

func BenchmarkWakeNobody(b *testing.B) {
	var g Gate
	for b.Loop() {
		g.Wake()
	}
}

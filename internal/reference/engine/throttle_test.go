package engine

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Writing beside serving rests four times as long as it works, however many goroutines write; without requests it does
// not rest.
func TestPace(t *testing.T) {
	const piece, pieces = 100 * time.Microsecond, 300
	for _, tt := range []struct {
		name       string
		goroutines int
		busy       bool
		least      time.Duration // of all pieces
		most       time.Duration
	}{
		{"one writer", 1, true, 5 * piece * pieces, 5 * piece * pieces},
		// One may work while the others rest.
		{"three writers", 3, true, 4 * piece * pieces, 5 * piece * pieces},
		{"nothing is served", 1, false, piece * pieces, piece * pieces},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := throttle{busy: func() bool { return tt.busy }}
				start := time.Now()
				var wg sync.WaitGroup
				for range tt.goroutines {
					wg.Go(func() {
						for range pieces / tt.goroutines {
							time.Sleep(piece) // the work
							p.rest(piece)
						}
					})
				}
				wg.Wait()
				if took := time.Since(start); took < tt.least*99/100 || took > tt.most*101/100 {
					t.Errorf("took %v, want %v to %v", took, tt.least, tt.most)
				}
			})
		})
	}
}

// A piece that took long because its goroutine had no core causes no extra rest.
func TestPaceOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := throttle{busy: func() bool { return true }}
		start := time.Now()
		p.rest(time.Second)
		if took := time.Since(start); took > restShare*longPiece {
			t.Errorf("rested for %v", took)
		}
	})
}

// Files are written at full speed once the last request has ended, or the engine ends.
func TestServing(t *testing.T) {
	r := newRig(t, 2, 1, Options{})
	var during atomic.Bool
	r.groups[1].hold = func(sched.Step) { during.Store(r.serving()) }
	r.generate(t, 1, 3)
	if !during.Load() || r.serving() {
		t.Errorf("serving is %v during a request and %v after it", during.Load(), r.serving())
	}
}

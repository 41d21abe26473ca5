package engine

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/engine/sched"
)

// What is written beside serving takes one part in five of a core, however many
// goroutines do it; with nothing to serve it does not rest.
func TestPace(t *testing.T) {
	const piece, pieces = 100 * time.Microsecond, 300
	for _, tt := range []struct {
		name       string
		goroutines int
		busy       bool
		want       time.Duration // of all pieces, work and rest
	}{
		{"one writer", 1, true, 5 * piece * pieces},
		{"three writers share", 3, true, 5 * piece * pieces},
		{"nothing is served", 1, false, piece * pieces},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pace{busy: func() bool { return tt.busy }}
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
				if took := time.Since(start); took < tt.want*19/20 || took > tt.want*21/20 {
					t.Errorf("took %v, want about %v", took, tt.want)
				}
			})
		})
	}
}

// A piece that took long because its goroutine had no core is not rested for as if
// it had worked.
func TestPaceOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{busy: func() bool { return true }}
		start := time.Now()
		p.rest(time.Second)
		if took := time.Since(start); took > restShare*longPiece {
			t.Errorf("rested for %v", took)
		}
	})
}

// Files are written at full speed when the last request has ended, or the engine
// ends.
func TestServing(t *testing.T) {
	r := newRig(t, 2, 1, Options{})
	var during atomic.Bool
	r.groups[1].hold = func(sched.Step) { during.Store(r.serving()) }
	r.generate(t, 1, 3)
	if !during.Load() || r.serving() {
		t.Errorf("serving is %v during a request and %v after it", during.Load(), r.serving())
	}
}

package device

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/reference/engine/device/park"
)

// pool shares the chunks of a kernel among an executor and its helpers. The pool hands out one chunk at a time, so a
// helper that loses its core delays only the chunk that it is running.
type pool struct {
	busy    sync.Mutex // one kernel at a time
	fn      func(chunk int)
	state   atomic.Uint64 // chunks << 32 | next chunk to hand out
	left    atomic.Int32  // chunks not done
	failure atomic.Pointer[string]
	spin    time.Duration
	begin   park.Gate // helpers wait here for chunks
	end     park.Gate // the executor waits here for the last chunks
	closed  atomic.Bool
	wg      sync.WaitGroup
	helpers int
}

func (p *pool) start(helpers int, spin time.Duration) {
	p.spin, p.helpers = spin, helpers
	for range helpers {
		p.wg.Go(p.help)
	}
}

// run runs all chunks and returns the value that a chunk panicked with, or nil.
func (p *pool) run(chunks int, fn func(chunk int)) any {
	if p.helpers == 0 || !p.busy.TryLock() { // no helpers, or another stream uses them
		for i := range chunks {
			fn(i)
		}
		return nil
	}
	defer p.busy.Unlock()
	// fn is written before state, so a worker that claims a chunk through the swap in claim sees this fn. fn is not
	// overwritten until the claimed chunk is done.
	p.fn = fn
	p.left.Store(int32(chunks))
	p.state.Store(uint64(chunks) << 32)
	p.begin.Wake()
	p.work()
	p.end.Wait(func() bool { return p.left.Load() == 0 }, p.spin)
	if f := p.failure.Swap(nil); f != nil {
		return *f
	}
	return nil
}

// claim takes the next chunk.
func (p *pool) claim() (chunk int, ok bool) {
	for {
		s := p.state.Load()
		if s&(1<<32-1) >= s>>32 {
			return 0, false
		}
		if p.state.CompareAndSwap(s, s+1) {
			return int(s & (1<<32 - 1)), true
		}
	}
}

func (p *pool) work() {
	for {
		chunk, ok := p.claim()
		if !ok {
			return
		}
		p.chunk(chunk)
		if p.left.Add(-1) == 0 {
			p.end.Wake()
		}
	}
}

func (p *pool) chunk(chunk int) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprintf("%v\n%s", r, debug.Stack())
			p.failure.Store(&text)
		}
	}()
	p.fn(chunk)
}

func (p *pool) help() {
	for !p.closed.Load() {
		p.work()
		p.begin.Wait(func() bool {
			s := p.state.Load()
			return s&(1<<32-1) < s>>32 || p.closed.Load()
		}, p.spin)
	}
}

func (p *pool) stop() {
	p.closed.Store(true)
	p.begin.Wake()
	p.wg.Wait()
}

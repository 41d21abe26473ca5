package progress

import (
	"context"
	"sync"
	"time"
)

// Paces are the times at which a wait is spoken of: soon, then now and then.
type Paces struct {
	First time.Duration // default 2 s
	next  time.Duration
}

// Due tells whether, after so long a wait, a word is due.
func (p *Paces) Due(waited time.Duration) bool {
	if p.next == 0 {
		p.next = p.First
		if p.next <= 0 {
			p.next = 2 * time.Second
		}
	}
	if waited < p.next {
		return false
	}
	for p.next <= waited {
		p.next = min(3*p.next, p.next+time.Minute)
	}
	return true
}

// Await calls say while something takes long, with the time that it has taken, until done
// is called or ctx ends. It is never called after done has returned.
func (p Paces) Await(ctx context.Context, say func(waited time.Duration)) (done func()) {
	ctx, cancel := context.WithCancel(ctx)
	began := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			waited := time.Since(began)
			if p.Due(waited) {
				say(waited)
			}
			t := time.NewTimer(p.next - waited)
			select {
			case <-ctx.Done():
			case <-t.C:
			}
			t.Stop()
		}
	})
	return func() { cancel(); wg.Wait() }
}

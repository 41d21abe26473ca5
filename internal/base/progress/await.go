package progress

import (
	"context"
	"sync"
	"time"
)

// Paces schedules the messages about a wait: the first message comes soon, and the intervals between later messages
// grow.
type Paces struct {
	First time.Duration // default 2 s
	next  time.Duration
}

// Due reports whether a message is due after a wait of this length.
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

// Await calls say with the elapsed time at the times given by p, until done is called or ctx ends. It never calls say
// after done has returned.
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

package engine

import (
	"context"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
)

// outbox holds the events of one request on their way from the scheduler, which must never wait, to the reader, which
// may be slow.
type outbox struct {
	mu     sync.Mutex
	events []api.Event
	wake   chan struct{} // signals the waiting goroutine; buffers one signal
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put adds an event.
func (o *outbox) put(e api.Event) {
	o.mu.Lock()
	o.events = append(o.events, e)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take returns all events, after waiting for at least one. It returns nil when ctx ends or dead is closed.
func (o *outbox) take(ctx context.Context, dead <-chan struct{}) []api.Event {
	for {
		o.mu.Lock()
		batch := o.events
		o.events = nil
		o.mu.Unlock()
		if batch != nil {
			return batch
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return nil
		case <-dead:
			return nil
		}
	}
}

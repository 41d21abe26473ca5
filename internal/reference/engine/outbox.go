package engine

import (
	"context"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
)

// outbox queues the events of one request between the scheduler and the reader. The scheduler must never wait, but the
// reader may be slow.
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

// take waits for at least one event and returns all queued events. It returns nil when ctx ends or dead is closed.
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

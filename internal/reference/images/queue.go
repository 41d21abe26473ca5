package images

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// queue lets one in at a time, in the order in which they came.
type queue struct {
	slot chan struct{}
	most int // that wait

	mu               sync.Mutex
	waiting, running int
	closed           bool
	empty            chan struct{} // closed when it is closed and nobody is left
}

func newQueue(most int) *queue {
	return &queue{slot: make(chan struct{}, 1), most: most, empty: make(chan struct{})}
}

// enter waits for the turn of a request, which ends with leave.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	q.mu.Lock()
	switch {
	case q.closed:
		err = errShutdown
	case q.waiting >= q.most && q.waiting+q.running > 0:
		err = &httpguard.Error{Status: http.StatusServiceUnavailable, Message: fmt.Sprintf("the queue is full: %d requests wait", q.waiting)}
	default:
		q.waiting++
	}
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case q.slot <- struct{}{}:
		q.count(-1, +1)
		return func() {
			<-q.slot
			q.count(0, -1)
		}, nil
	case <-ctx.Done():
		q.count(-1, 0)
		return nil, context.Cause(ctx)
	}
}

func (q *queue) count(waiting, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting += waiting
	q.running += running
	q.settle()
}

// settle tells those who wait for the end; mu is held.
func (q *queue) settle() {
	if q.closed && q.waiting+q.running == 0 {
		select {
		case <-q.empty:
		default:
			close(q.empty)
		}
	}
}

// sizes are the numbers of requests.
func (q *queue) sizes() (waiting, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting, q.running
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// close lets nobody in any more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.settle()
}

// wait returns true when nobody is left after close, false when the time is over first. Without a limit it waits.
func (q *queue) wait(limit <-chan time.Time) bool {
	select {
	case <-q.empty:
		return true
	case <-limit:
		return false
	}
}

package images

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// queue admits one request at a time, in order of arrival.
type queue struct {
	slot chan struct{}
	most int // maximum number of waiting requests

	mu               sync.Mutex
	waiting, running int
	closed           bool
	empty            chan struct{} // closed after close has been called and no request is left
}

func newQueue(most int) *queue {
	return &queue{slot: make(chan struct{}, 1), most: most, empty: make(chan struct{})}
}

// enter waits for the request's turn. leave ends the turn.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	q.mu.Lock()
	switch {
	case q.closed:
		err = errShutdown
	case q.waiting >= q.most && q.waiting+q.running > 0:
		err = &httpguard.Error{Status: http.StatusServiceUnavailable, Message: fmt.Sprintf("the queue is full: %d requests are waiting", q.waiting)}
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

// settle closes empty if the queue is closed and no request is left. The caller holds mu.
func (q *queue) settle() {
	if q.closed && q.waiting+q.running == 0 {
		select {
		case <-q.empty:
		default:
			close(q.empty)
		}
	}
}

// sizes returns the numbers of waiting and of running requests.
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

// close stops admitting requests.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.settle()
}

// wait returns true when no request is left after close, or false if limit fires first. A nil limit never fires.
func (q *queue) wait(limit <-chan time.Time) bool {
	select {
	case <-q.empty:
		return true
	case <-limit:
		return false
	}
}

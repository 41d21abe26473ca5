package httpguard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// MostControl is the maximum size of a body on a control route, in bytes. Requests to these routes are short.
const MostControl = 1 << 20

// Memory limits for the bodies of all clients together. A body of up to smallBody is read without waiting. A larger
// body waits until the bodies in memory leave enough of bodyRoom. A text of largeText or more also waits for its turn,
// because tokenizing takes thirty times the memory of the text, and even more for a list of many parts.
const (
	smallBody = 64 << 10
	bodyRoom  = 256 << 20 // bytes of all bodies above smallBody, or the maximum size of a single body if that is more
	largeText = 256 << 10
	turnRoom  = 8 << 20  // bytes of large texts processed at once; a text above turnRoom is processed alone
	freeAfter = 32 << 20 // bytes of released bodies after which memory is returned to the system
	patience  = 20 * time.Second
)

// bodies tracks the memory left for request bodies.
type bodies struct {
	once        sync.Once
	room, turns *semaphore.Weighted
	most        int64 // size of room

	mu    sync.Mutex
	freed int64
}

func (b *bodies) open(largest int64) {
	b.once.Do(func() {
		b.most = max(bodyRoom, largest)
		b.room, b.turns = semaphore.NewWeighted(b.most), semaphore.NewWeighted(turnRoom)
	})
}

// held is the share of bodies.room that the body of one request holds.
type held struct {
	b *bodies
	n int64
}

type heldKey struct{}

// release returns the share to bodies.room.
func (h *held) release() {
	if h.n > 0 {
		h.b.room.Release(h.n)
		h.b.free(h.n)
	}
}

// free counts released bytes. After every freeAfter bytes it returns memory to the system, because the garbage
// collector would run too late: the model's weights dominate the heap.
func (b *bodies) free(n int64) {
	b.mu.Lock()
	b.freed += n
	enough := b.freed >= freeAfter
	if enough {
		b.freed = 0
	}
	b.mu.Unlock()
	if enough {
		debug.FreeOSMemory()
	}
}

// wait acquires n of room. It gives up after patience.
func wait(ctx context.Context, room *semaphore.Weighted, n int64) error {
	if room.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if room.Acquire(ctx, n) != nil {
		return &Error{http.StatusServiceUnavailable, "the server has no memory left for a body of this size: try again later"}
	}
	return nil
}

// Body reads the whole body within the deadline set by Guard. If the body is too large, the error is an
// *http.MaxBytesError. If the body cannot be read or there is no memory for it, the error is an *Error. The body's
// share of the memory limit is released when the handler returns.
func (f *Front) Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return f.BodyUpTo(w, r, f.MaxBodyBytes)
}

// BodyUpTo is Body with an additional limit on the size, in bytes.
func (f *Front) BodyUpTo(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := f.read(w, r, min(limit, f.MaxBodyBytes))
	if err == nil {
		// Clear the deadline: net/http keeps reading to detect that the client disconnects.
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		return body, nil
	}
	// Do not clear the deadline: without it, net/http would wait for the rest of the body.
	w.Header().Set("Connection", "close")
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return nil, err
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return nil, own
	}
	return nil, &Error{http.StatusBadRequest, "the body could not be read: " + err.Error()}
}

func (f *Front) read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	from := http.MaxBytesReader(w, r.Body, limit)
	var first []byte
	if r.ContentLength < 0 {
		var err error
		if first, err = io.ReadAll(io.LimitReader(from, smallBody+1)); err != nil || len(first) <= smallBody {
			return first, err
		}
	}
	size := r.ContentLength
	if size < 0 {
		size = limit
	}
	if h, ok := r.Context().Value(heldKey{}).(*held); ok && size > smallBody {
		f.bodies.open(f.MaxBodyBytes)
		if err := wait(r.Context(), f.bodies.room, size); err != nil {
			return nil, err
		}
		h.b, h.n = &f.bodies, size
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(f.BodyTimeout)) // without the time waited
	}
	if r.ContentLength >= 0 {
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(from, body)
		return body, err
	}
	whole := bytes.NewBuffer(first)
	_, err := whole.ReadFrom(from)
	return whole.Bytes(), err
}

// Turn waits until a body of n bytes may be decoded and its text processed. done ends the turn.
func (f *Front) Turn(r *http.Request, n int) (done func(), err error) {
	if n < largeText {
		return func() {}, nil
	}
	f.bodies.open(f.MaxBodyBytes)
	turn := min(int64(n), turnRoom)
	if err := wait(r.Context(), f.bodies.turns, turn); err != nil {
		return nil, err
	}
	return func() { f.bodies.turns.Release(turn) }, nil
}

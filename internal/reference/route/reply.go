package route

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var errSlow = errors.New("the reply did not start in time (--request-timeout-secs)")

var buffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// reply is a worker's reply of which the first bytes, or the end, have arrived.
type reply struct {
	res    *http.Response
	w      *worker
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // cancels the request if the reply stalls
	armed  time.Time
	limit  time.Duration
	buf    *[16 << 10]byte
	n      int
	err    error // error of the last read
}

// open sends a request and waits for the first bytes of the reply's body. The caller must close the reply.
func (rt *Router) open(ctx context.Context, w *worker, q *request) (*reply, error) {
	p := &reply{w: w, limit: rt.o.RequestTimeout, armed: time.Now()}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.timer = time.AfterFunc(p.limit, func() { p.cancel(errSlow) })
	w.running.Add(1)
	var err error
	if p.res, err = rt.send(p.ctx, w, q); err == nil {
		if q.rewrite != nil {
			q.rewrite(p.res)
		}
		p.buf = buffers.Get().(*[16 << 10]byte)
		p.read()
		if p.n > 0 || p.err == io.EOF {
			w.answered.Store(time.Now().UnixNano())
			return p, nil
		}
		err = p.err
	}
	err = p.why(err)
	p.close()
	if ctx.Err() == nil {
		w.failed.Add(1)
		if errors.Is(err, syscall.ECONNREFUSED) {
			rt.down(w, err)
		} else {
			rt.doubt(w)
		}
	}
	return nil, fmt.Errorf("%s: %w", w.url, err)
}

// why returns the cause of a reply's error.
func (p *reply) why(err error) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return errors.New("the worker closed the connection")
	}
	return err
}

// read waits for at least one byte and reads the available bytes.
func (p *reply) read() {
	// The timer is not reset at every read, so its limit may be off by a second.
	if now := time.Now(); now.Sub(p.armed) >= min(time.Second, p.limit/8) {
		p.armed = now
		p.timer.Reset(p.limit)
	}
	p.n, p.err = 0, nil
	for p.n == 0 && p.err == nil {
		p.n, p.err = p.res.Body.Read(p.buf[:])
	}
}

func (p *reply) close() {
	p.w.running.Add(-1)
	p.timer.Stop()
	if p.res != nil {
		p.res.Body.Close()
	}
	p.cancel(context.Canceled)
	if p.buf != nil {
		buffers.Put(p.buf)
		p.buf = nil
	}
}

// rest reads the rest of a short reply.
func (p *reply) rest() []byte {
	var out []byte
	for {
		out = append(out, p.buf[:p.n]...)
		if p.err != nil || len(out) > maxReply {
			return out
		}
		p.read()
	}
}

// maxReply is the maximum size, in bytes, of replies that the router itself interprets.
const maxReply = 16 << 20

// tryAgain reports whether another worker may succeed, because this worker is overloaded or the worker's backend is
// missing. The status 500 counts as a final answer, because another worker would usually return the same status.
func (p *reply) tryAgain() bool {
	switch p.res.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// relay streams a reply to the client. If the reply breaks off, relay ends an event stream with an error event and
// returns nil. For any other reply that breaks off, relay returns an error, and the caller must cut the connection. If
// the client has disconnected, relay returns errClientGone.
func (rt *Router) relay(rw http.ResponseWriter, p *reply, native bool) error {
	copyHeader(rw.Header(), p.res.Header)
	stream := p.res.ContentLength < 0
	if !stream {
		rw.Header()["Content-Length"] = []string{strconv.FormatInt(p.res.ContentLength, 10)}
	}
	rw.WriteHeader(p.res.StatusCode)
	rc := http.NewResponseController(rw)
	var armed time.Time
	var last [2]byte
	for {
		if p.n > 0 {
			if now := time.Now(); now.Sub(armed) > min(time.Second, rt.o.WriteTimeout/8) {
				armed = now
				rc.SetWriteDeadline(now.Add(rt.o.WriteTimeout))
			}
			if _, err := rw.Write(p.buf[:p.n]); err != nil {
				p.cancel(errClientGone)
				return errClientGone
			}
			last[0] = last[1]
			if p.n > 1 {
				last[0] = p.buf[p.n-2]
			}
			last[1] = p.buf[p.n-1]
		}
		if p.err == io.EOF {
			p.w.served.Add(1)
			return nil
		}
		if p.err != nil {
			break
		}
		// If the reply is already complete, send its last bytes and its end in one packet.
		if stream {
			if err := rc.Flush(); err != nil {
				p.cancel(errClientGone)
				return errClientGone
			}
		}
		p.read()
	}
	err := p.why(p.err)
	if errors.Is(err, context.Canceled) { // the client's context was canceled
		return errClientGone
	}
	var prefill *prefillFailure
	if !errors.As(err, &prefill) && !errors.Is(err, errShutdown) {
		p.w.failed.Add(1)
		rt.doubt(p.w)
		err = fmt.Errorf("%s: %w", p.w.url, err)
	}
	rt.o.Log.Warn("reply broke off", "worker", p.w.id, "err", err)
	if stream && isEvents(p.res.Header) {
		var out []byte
		if last != [2]byte{'\n', '\n'} {
			out = append(out, "\n\n"...) // end a partial event
		}
		e := &failure{http.StatusBadGateway, err.Error()}
		if errors.Is(err, errShutdown) {
			e = &failure{http.StatusServiceUnavailable, errShutdown.Error()}
		}
		rc.SetWriteDeadline(time.Now().Add(5 * time.Second))
		rw.Write(append(out, e.event(native)...))
		return nil
	}
	return err
}

var errClientGone = errors.New("the client disconnected")

func isEvents(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}

// finish relays a reply. If an error cannot be reported to the client in any other way, finish cuts the connection.
func (rt *Router) finish(rw http.ResponseWriter, p *reply, native bool) {
	defer p.close()
	if rt.relay(rw, p, native) != nil {
		panic(http.ErrAbortHandler)
	}
}

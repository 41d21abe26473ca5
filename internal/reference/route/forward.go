package route

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/httpguard"
)

// request is a client's request.
type request struct {
	method string
	path   string // path and query
	header http.Header
	body   []byte
	native bool
	admin  bool // sent with the admin key
	// rewrite may replace the body of a reply; nil: replies are passed on unchanged.
	rewrite func(*http.Response)
}

// take reads a client's request with its complete body, so that the request can be sent more than once.
func (rt *Router) take(rw http.ResponseWriter, r *http.Request) (*request, *failure) {
	q := &request{method: r.Method, path: r.URL.RequestURI(), header: r.Header, native: native(r.URL.Path)}
	if rt.draining.Load() {
		return nil, &failure{http.StatusServiceUnavailable, errShutdown.Error()}
	}
	if r.Body == http.NoBody {
		return q, nil
	}
	body, err := rt.front.Body(rw, r)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &failure{http.StatusRequestEntityTooLarge, "the body is larger than " + strconv.FormatInt(big.Limit, 10) + " bytes (--max-payload-size)"}
	}
	if own, ok := errors.AsType[*httpguard.Error](err); ok {
		return nil, &failure{own.Status, own.Message}
	}
	if err != nil {
		return nil, &failure{http.StatusBadRequest, err.Error()}
	}
	q.body = body
	return q, nil
}

// hop lists headers that apply to a single connection and are not forwarded. Host and Content-Length are set again for
// each connection.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Content-Length"}

func copyHeader(dst, src http.Header) {
	for name, values := range src {
		if !slices.Contains(hop, name) {
			dst[name] = values
		}
	}
	for _, line := range src["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			delete(dst, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// send sends one request to a worker. If the router has a worker key, the request has that key. Otherwise it has the
// client's key.
func (rt *Router) send(ctx context.Context, w *worker, q *request) (*http.Response, error) {
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, w.url+q.path, body)
	if err != nil {
		return nil, err
	}
	copyHeader(req.Header, q.header)
	key := rt.o.APIKey
	switch {
	case rt.o.WorkerKey != "":
		key = rt.o.WorkerKey
	case q.admin && rt.o.AdminAPIKey != "":
		key = rt.o.AdminAPIKey
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header.Set("User-Agent", "stepscope-route")
	}
	// This header has no value, so it is not sent. Its presence allows the transport to repeat the request if an idle
	// connection turns out to be closed.
	req.Header["Idempotency-Key"] = nil
	return rt.transport.RoundTrip(req)
}

// context returns the context of a client's request. The context ends when the client disconnects or when the router,
// at shutdown, stops waiting for requests.
func (rt *Router) context(r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(rt.base, func() { cancel(context.Cause(rt.base)) })
	return ctx, func() { stop(); cancel(nil) }
}

// any sends a request to any worker. In PD mode it sends the request to a prefill worker.
func (rt *Router) any(rw http.ResponseWriter, r *http.Request) {
	p := rt.plain
	if p == nil {
		p = rt.prefill
	}
	rt.plainRequest(rw, r, p)
}

// generate routes a generation request.
func (rt *Router) generate(rw http.ResponseWriter, r *http.Request) {
	rt.metrics.requests.Add(1)
	if rt.plain == nil {
		rt.pair(rw, r)
		return
	}
	rt.plainRequest(rw, r, rt.plain)
}

// plainRequest sends a request to one worker after another until a worker replies.
func (rt *Router) plainRequest(rw http.ResponseWriter, r *http.Request, from *pool) {
	q, bad := rt.take(rw, r)
	if bad != nil {
		rt.refuse(rw, r.URL.Path, bad)
		return
	}
	ctx, done := rt.context(r)
	defer done()
	var key []byte
	if from.policy.wantsKey() {
		key = prompt(q.body)
	}
	var room [8]*worker
	tried := room[:0]
	var last error
	for {
		w := from.pick(key, tried)
		if w == nil {
			break
		}
		tried = append(tried, w)
		p, err := rt.open(ctx, w, q)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				p.close()
			}
			rt.gone(rw, r, ctx)
			return
		case err == nil && (!p.tryAgain() || !rt.more(from, tried)):
			rt.finish(rw, p, q.native)
			return
		case err == nil:
			err = fmt.Errorf("%s: %s", w.url, p.res.Status)
			p.close()
		}
		last = err
		rt.o.Log.Warn("request failed before its first byte", "worker", w.id, "path", r.URL.Path, "err", err)
		if len(tried) > rt.o.MaxRetries {
			break
		}
		rt.metrics.retries.Add(1)
	}
	rt.refuse(rw, r.URL.Path, exhausted(last))
}

// more reports whether a request may be tried on another worker.
func (rt *Router) more(from *pool, tried []*worker) bool {
	return len(tried) <= rt.o.MaxRetries && slices.ContainsFunc(from.workers, func(w *worker) bool {
		return w.up.Load() && !slices.Contains(tried, w)
	})
}

// gone ends a request whose client has disconnected or that the router aborts.
func (rt *Router) gone(rw http.ResponseWriter, r *http.Request, ctx context.Context) {
	if errors.Is(context.Cause(ctx), errShutdown) {
		rt.refuse(rw, r.URL.Path, &failure{http.StatusServiceUnavailable, errShutdown.Error()})
	}
}

// exhausted returns the error for a request for which no worker is left to try.
func exhausted(last error) *failure {
	switch {
	case last == nil:
		return &failure{http.StatusServiceUnavailable, "no worker is up"}
	case errors.Is(last, errSlow):
		return &failure{http.StatusGatewayTimeout, last.Error()}
	}
	return &failure{http.StatusBadGateway, last.Error()}
}

package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/pause"
)

// bootstrap adds the fields by which a prefill worker and a decode worker find each other. They are the address of the
// prefill worker's bootstrap server and the room, a random number of 63 bits. For a batch, each field is a list with
// one element per prompt.
func bootstrap(body []byte, w *worker) ([]byte, error) {
	end, members, ok := scanObject(body, func(_, _ []byte) {})
	if !ok {
		return nil, errors.New("the body is not a JSON object")
	}
	host, _ := json.Marshal(w.host) // cannot fail: a string
	port := []byte("null")          // the worker uses its default
	if n := w.bootstrapPort.Load(); n != 0 {
		port = strconv.AppendInt(nil, n, 10)
	}
	n, single := batch(body)
	list := func(out []byte, item func([]byte) []byte) []byte {
		if single {
			return item(out)
		}
		out = append(out, '[')
		for i := range n {
			if i > 0 {
				out = append(out, ',')
			}
			out = item(out)
		}
		return append(out, ']')
	}
	out := make([]byte, 0, len(body)+(len(host)+len(port)+32)*max(1, n)+80)
	// Append the fields after the existing members: if a name occurs twice, workers use the last member.
	out = append(out, body[:end]...)
	if members > 0 {
		out = append(out, ',')
	}
	out = list(append(out, `"bootstrap_host":`...), func(b []byte) []byte { return append(b, host...) })
	out = list(append(out, `,"bootstrap_port":`...), func(b []byte) []byte { return append(b, port...) })
	out = list(append(out, `,"bootstrap_room":`...), func(b []byte) []byte { return strconv.AppendInt(b, rand.Int64(), 10) })
	return append(out, '}'), nil
}

// prefillFailure is an error on the prefill worker.
type prefillFailure struct {
	error
	w     *worker
	reply *answer // reply of the prefill worker, if there is one
}

// answer is the complete reply of a worker.
type answer struct {
	status int
	header http.Header
	body   []byte
	again  bool // whether another worker may succeed
}

// prefillGrace is the maximum time for which the request to a prefill worker may continue after the client has received
// all tokens.
const prefillGrace = 10 * time.Second

// peerGrace is the maximum wait for the reply of a pair's second worker after the first worker has failed. When a
// transfer breaks, both workers fail, but only one of them reports the cause.
const peerGrace = time.Second

// prefillSide is a request in progress on a prefill worker.
type prefillSide struct {
	cancel func()
	done   chan struct{} // closed when the request is over
	// The following fields are set when the request is over.
	failure *prefillFailure // nil: success
	body    []byte          // body of the worker's reply, if it is needed
}

// over waits, for at most d, until the request is over. It reports whether the request is over.
func (s *prefillSide) over(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-s.done:
		return true
	default:
	}
	select {
	case <-s.done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// sendPrefill sends a request to a prefill worker and reads the reply. Only the log probabilities in the reply are
// used. If the request fails, sendPrefill calls fail, which ends the request to the decode worker. The request to the
// prefill worker ends when cancel is called or when the router stops.
func (rt *Router) sendPrefill(w *worker, q *request, keep bool, fail func(error)) *prefillSide {
	ctx, stop := context.WithCancelCause(rt.base)
	s := &prefillSide{cancel: func() { stop(context.Canceled) }, done: make(chan struct{})}
	rt.work.Go(func() {
		defer stop(nil)
		s.failure, s.body = rt.readPrefill(ctx, w, q, keep)
		close(s.done)
		if s.failure == nil || ctx.Err() != nil {
			return
		}
		if r := s.failure.reply; r != nil && r.status == http.StatusInternalServerError {
			pause.For(ctx, peerGrace)
		}
		fail(s.failure)
	})
	return s
}

// readPrefill sends the request for sendPrefill and reads the reply.
func (rt *Router) readPrefill(ctx context.Context, w *worker, q *request, keep bool) (*prefillFailure, []byte) {
	p, err := rt.open(ctx, w, q)
	if err != nil {
		return &prefillFailure{error: err, w: w}, nil
	}
	defer p.close()
	if p.res.StatusCode >= http.StatusBadRequest {
		a := p.answer()
		return &prefillFailure{error: fmt.Errorf("%s: %s: %s", w.url, p.res.Status, wire.Reason(a.body)), w: w, reply: a}, nil
	}
	var body []byte
	for {
		if keep && len(body) <= maxReply {
			body = append(body, p.buf[:p.n]...)
		}
		if p.err != nil {
			break
		}
		p.read()
	}
	if p.err != io.EOF {
		if ctx.Err() == nil {
			w.failed.Add(1)
			rt.doubt(w)
		}
		return &prefillFailure{error: fmt.Errorf("%s: %w", w.url, p.why(p.err)), w: w}, nil
	}
	w.served.Add(1)
	return nil, body
}

// answer reads a short reply completely.
func (p *reply) answer() *answer {
	again := p.tryAgain()
	return &answer{p.res.StatusCode, p.res.Header, p.rest(), again}
}

// pass sends the complete reply of a worker to the client.
func (a *answer) pass(rw http.ResponseWriter) { passWhole(rw, a.status, a.header, a.body) }

// secondhand reports whether a decode worker's reply may describe a failure of its prefill worker.
func secondhand(p *reply) bool {
	return p.res.StatusCode == http.StatusInternalServerError ||
		p.res.StatusCode == http.StatusOK && isEvents(p.res.Header) && bytes.HasPrefix(p.buf[:p.n], []byte(`data: {"error"`))
}

// parted matches the messages of SGLang's and stepscope's workers about a failed transfer of keys and values. After
// such a failure, neither worker may be faulty, and another pair may succeed.
var parted = regexp.MustCompile(`(?i)(bootstrap|handshake|transfer) failed`)

// pair sends a request to a prefill worker and a decode worker. If either worker fails before the first byte of the
// decode worker's reply, pair sends the request to another pair.
func (rt *Router) pair(rw http.ResponseWriter, r *http.Request) {
	q, bad := rt.take(rw, r)
	if bad != nil {
		rt.refuse(rw, r.URL.Path, bad)
		return
	}
	ctx, done := rt.context(r)
	defer done()
	var key []byte
	if rt.prefill.policy.wantsKey() || rt.decode.policy.wantsKey() {
		key = prompt(q.body)
	}
	tried := &triedPairs{}
	var last error
	for try := 0; try <= max(0, rt.o.MaxRetries); try++ {
		pw, dw := rt.prefill.pick(key, tried.prefill), rt.decode.pick(key, tried.decode)
		if pw == nil || dw == nil {
			if last == nil && (pw == nil) != (dw == nil) {
				last = &failure{http.StatusServiceUnavailable, "no " + map[bool]string{true: api.Prefill, false: api.Decode}[pw == nil] + " worker is up"}
			}
			break
		}
		body, err := bootstrap(q.body, pw)
		if err != nil {
			rt.refuse(rw, r.URL.Path, &failure{http.StatusBadRequest, err.Error()})
			return
		}
		if try > 0 {
			rt.metrics.retries.Add(1)
		}
		sent := *q
		sent.body = body
		blame, err := rt.tryPair(ctx, rw, &sent, pw, dw, tried)
		if err == nil {
			return
		}
		if last = err; ctx.Err() != nil {
			rt.gone(rw, r, ctx)
			return
		}
		rt.o.Log.Warn("request failed before its first token", "prefill", pw.id, "decode", dw.id, "path", r.URL.Path, "err", last)
		if !tried.add(rt, blame) {
			break
		}
	}
	if own, ok := errors.AsType[*failure](last); ok {
		rt.refuse(rw, r.URL.Path, own)
		return
	}
	rt.refuse(rw, r.URL.Path, exhausted(last))
}

// triedPairs are the workers on which a request has failed.
type triedPairs struct{ prefill, decode []*worker }

// and returns a copy of list with w appended.
func and(list []*worker, w *worker) []*worker { return append(slices.Clone(list), w) }

// add records failed workers and reports whether other workers are left. If it is unknown which worker of a pair has
// failed, add excludes each of the two for which another worker of the same kind is left.
func (t *triedPairs) add(rt *Router, blame []*worker) (more bool) {
	for _, w := range blame {
		list := &t.prefill
		if w.role == api.Decode {
			list = &t.decode
		}
		if left := rt.more(rt.pool(w.role), and(*list, w)); left || len(blame) == 1 {
			*list, more = and(*list, w), true
		}
	}
	return more
}

// tryPair sends a request to a pair. If err is nil, the client has received a reply or has disconnected. Otherwise no
// reply was sent, and blame lists the workers of the pair that may have failed.
func (rt *Router) tryPair(ctx context.Context, rw http.ResponseWriter, q *request, pw, dw *worker, tried *triedPairs) (blame []*worker, err error) {
	dctx, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	merge := q.path == "/generate" && wantsLogprobs(q.body)
	prefill := rt.sendPrefill(pw, q, merge, failed)
	whole := false
	defer func() {
		if whole { // the last bytes of the prefill worker's reply may still be in flight
			time.AfterFunc(prefillGrace, prefill.cancel)
			return
		}
		prefill.cancel()
	}()
	others := rt.more(rt.prefill, and(tried.prefill, pw)) || rt.more(rt.decode, and(tried.decode, dw))
	// refused either passes a prefill worker's refusal on to the client or returns an error, after which another pair
	// is tried.
	refused := func(f *prefillFailure) ([]*worker, error) {
		if f.reply != nil && others && parted.Match(f.reply.body) {
			return []*worker{pw, dw}, f.error
		}
		if f.reply == nil || f.reply.again && rt.more(rt.prefill, and(tried.prefill, pw)) {
			return []*worker{pw}, f.error
		}
		f.reply.pass(rw)
		return nil, nil
	}
	d := *q
	if merge {
		d.rewrite = func(res *http.Response) { addLogprobs(dctx, res, prefill) }
	}
	p, err := rt.open(dctx, dw, &d)
	if err != nil {
		var pf *prefillFailure
		switch {
		case ctx.Err() == nil && errors.As(context.Cause(dctx), &pf):
			return refused(pf)
		case errors.Is(err, errSlow) && !prefill.over(ctx, 0):
			return []*worker{pw, dw}, err // either worker may be the one that keeps the other waiting
		}
		return []*worker{dw}, err
	}
	if p.tryAgain() && rt.more(rt.decode, and(tried.decode, dw)) {
		err := fmt.Errorf("%s: %s", dw.url, p.res.Status)
		p.close()
		return []*worker{dw}, err
	}
	if secondhand(p) && prefill.over(ctx, peerGrace) && prefill.failure != nil {
		if f := prefill.failure; f.reply == nil || f.reply.status != http.StatusInternalServerError {
			p.close()
			return refused(f)
		}
	}
	if first := p.buf[:p.n]; others && secondhand(p) && parted.Match(first) {
		first, _, _ = bytes.Cut(bytes.TrimPrefix(first, []byte("data: ")), []byte("\n"))
		err := fmt.Errorf("%s: %s", dw.url, wire.Reason(first))
		p.close()
		return []*worker{pw, dw}, err
	}
	if p.res.StatusCode >= http.StatusBadRequest {
		a := p.answer()
		p.close()
		dw.served.Add(1)
		a.pass(rw)
		return nil, nil
	}
	rt.finish(rw, p, q.native)
	whole = p.err == io.EOF
	return nil, nil
}

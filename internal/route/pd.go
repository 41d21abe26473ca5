package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// bootstrap returns the body with the fields by which a prefill worker and a decode
// worker find each other: where the prefill worker's bootstrap server is, and a room,
// random in 63 bits; for a batch, lists of as many.
func bootstrap(body []byte, w *worker) ([]byte, error) {
	end, members, ok := scanObject(body, func(_, _ []byte) {})
	if !ok {
		return nil, errors.New("the body is not a JSON object")
	}
	host, _ := json.Marshal(w.host) // a string
	port := []byte("null")          // the worker's own default
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
	// Behind the members that are there: of two with one name the last counts.
	out = append(out, body[:end]...)
	if members > 0 {
		out = append(out, ',')
	}
	out = list(append(out, `"bootstrap_host":`...), func(b []byte) []byte { return append(b, host...) })
	out = list(append(out, `,"bootstrap_port":`...), func(b []byte) []byte { return append(b, port...) })
	out = list(append(out, `,"bootstrap_room":`...), func(b []byte) []byte { return strconv.AppendInt(b, rand.Int64(), 10) })
	return append(out, '}'), nil
}

// prefillFailure is what went wrong on the prefill side.
type prefillFailure struct {
	error
	w     *worker
	reply *answer // if it answered
}

// answer is a whole reply of a worker.
type answer struct {
	status int
	header http.Header
	body   []byte
	again  bool // another worker may do better
}

// prefillGrace is how long a prefill may go on when its client has all tokens.
const prefillGrace = 10 * time.Second

// sendPrefill sends a request to a prefill worker and reads its reply, which nobody
// wants but for its failure. That ends the decode side, by fail. The request ends when
// cancel is called, at the latest at the router's own end.
func (rt *Router) sendPrefill(w *worker, q *request, fail func(error)) (cancel func()) {
	ctx, stop := context.WithCancelCause(rt.base)
	rt.work.Go(func() {
		defer stop(nil)
		p, err := rt.open(ctx, w, q)
		if err != nil {
			if ctx.Err() == nil {
				fail(&prefillFailure{error: err, w: w})
			}
			return
		}
		defer p.close()
		if p.res.StatusCode >= http.StatusBadRequest {
			body := p.rest()
			fail(&prefillFailure{
				error: fmt.Errorf("%s: %s: %s", w.url, p.res.Status, reason(body)), w: w,
				reply: &answer{p.res.StatusCode, p.res.Header, body, p.tryAgain()},
			})
			return
		}
		for p.err == nil {
			p.read()
		}
		if p.err != io.EOF {
			if ctx.Err() == nil {
				w.failed.Add(1)
				rt.doubt(w)
				fail(&prefillFailure{error: fmt.Errorf("%s: %w", w.url, p.why(p.err)), w: w})
			}
			return
		}
		w.served.Add(1)
	})
	return func() { stop(context.Canceled) }
}

// pair sends a request to a prefill and a decode worker, and on to another pair where
// one of the two fails before the decode worker's first byte.
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
	var triedPrefill, triedDecode []*worker // that failed
	var last error
	for try := 0; try <= max(0, rt.o.MaxRetries); try++ {
		pw, dw := rt.prefill.pick(key, triedPrefill), rt.decode.pick(key, triedDecode)
		if pw == nil || dw == nil {
			if last == nil && (pw == nil) != (dw == nil) {
				last = &failure{http.StatusServiceUnavailable, "no " + map[bool]string{true: Prefill, false: Decode}[pw == nil] + " worker is up"}
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
		var blame *worker
		var final bool
		if blame, final, last = rt.tryPair(ctx, rw, &sent, pw, dw, triedPrefill, triedDecode); final {
			return
		}
		if ctx.Err() != nil {
			rt.gone(rw, r, ctx)
			return
		}
		rt.o.Log.Warn("request failed before its first token", "prefill", pw.id, "decode", dw.id, "path", r.URL.Path, "err", last)
		if blame == pw {
			triedPrefill = append(triedPrefill, pw)
		} else {
			triedDecode = append(triedDecode, dw)
		}
	}
	var own *failure
	if errors.As(last, &own) {
		rt.refuse(rw, r.URL.Path, own)
		return
	}
	rt.refuse(rw, r.URL.Path, exhausted(last))
}

// tryPair sends a request to a pair. final: the client has a reply, or has gone. Else
// blame is the worker that failed before there was one.
func (rt *Router) tryPair(ctx context.Context, rw http.ResponseWriter, q *request, pw, dw *worker, triedPrefill, triedDecode []*worker) (blame *worker, final bool, err error) {
	dctx, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	endPrefill := rt.sendPrefill(pw, q, failed)
	whole := false
	defer func() {
		if whole { // its last bytes may still be on the way
			time.AfterFunc(prefillGrace, endPrefill)
			return
		}
		endPrefill()
	}()
	p, err := rt.open(dctx, dw, q)
	if err != nil {
		var pf *prefillFailure
		switch {
		case ctx.Err() != nil:
			return nil, false, err
		case !errors.As(context.Cause(dctx), &pf):
			return dw, false, err
		case pf.reply != nil && (!pf.reply.again || !rt.more(rt.prefill, append(slices.Clone(triedPrefill), pw))):
			copyHeader(rw.Header(), pf.reply.header)
			rw.WriteHeader(pf.reply.status)
			rw.Write(pf.reply.body)
			return pw, true, nil
		}
		return pw, false, pf.error
	}
	if p.tryAgain() && rt.more(rt.decode, append(slices.Clone(triedDecode), dw)) {
		err := fmt.Errorf("%s: %s", dw.url, p.res.Status)
		p.close()
		return dw, false, err
	}
	rt.finish(rw, p, q.native)
	whole = p.err == io.EOF
	return nil, true, nil
}

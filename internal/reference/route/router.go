package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/loglimit"
)

// Router routes requests to workers.
type Router struct {
	o         Options
	workers   []*worker // in the order of the options: prefill before decode
	plain     *pool     // nil in PD mode
	prefill   *pool
	decode    *pool
	transport *http.Transport
	metrics   metrics
	front     httpguard.Front
	handler   http.Handler

	draining atomic.Bool
	base     context.Context // parent of the contexts of all requests
	abortAll context.CancelCauseFunc
	work     sync.WaitGroup // requests, probes, and requests to prefill workers that outlive their client

	first   sync.Once
	firstUp chan struct{}   // closed once requests can be served
	failed  context.Context // ends if no worker is up within StartTimeout
	fail    context.CancelCauseFunc
}

// pool holds the workers of one kind and the policy that chooses among them.
type pool struct {
	workers []*worker
	policy  policy
}

// pick chooses a worker that is up and has not been tried yet. If there is no such worker, pick returns nil.
func (p *pool) pick(key []byte, tried []*worker) *worker {
	var room [16]*worker
	from := room[:0]
next:
	for _, w := range p.workers {
		if !w.up.Load() {
			continue
		}
		for _, t := range tried {
			if t == w {
				continue next
			}
		}
		from = append(from, w)
	}
	if len(from) == 0 {
		return nil
	}
	return p.policy.pick(from, key)
}

// up counts the workers that are up.
func (p *pool) up() (n int) {
	for _, w := range p.workers {
		if w.up.Load() {
			n++
		}
	}
	return n
}

// New returns a router for the configured workers. [Router.Serve] probes them.
func New(o Options) (*Router, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	rt := &Router{o: o, firstUp: make(chan struct{})}
	rt.failed, rt.fail = context.WithCancelCause(context.Background())
	rt.base, rt.abortAll = context.WithCancelCause(context.Background())
	pools := map[string]*pool{}
	for role, policy := range map[string]string{"": o.Policy, api.Prefill: o.PrefillPolicy, api.Decode: o.DecodePolicy} {
		pools[role] = &pool{policy: newPolicy(policy, o.Cache)}
	}
	for _, role := range []string{"", api.Prefill, api.Decode} {
		for _, b := range o.Workers {
			if b.Role != role {
				continue
			}
			p := pools[role]
			w, err := newWorker(b, len(p.workers))
			if err != nil {
				return nil, err
			}
			p.workers = append(p.workers, w)
			rt.workers = append(rt.workers, w)
		}
	}
	if len(pools[""].workers) > 0 {
		rt.plain = pools[""]
	} else {
		rt.prefill, rt.decode = pools[api.Prefill], pools[api.Decode]
	}
	rt.transport = &http.Transport{
		DialContext:        (&net.Dialer{Timeout: o.ConnectTimeout}).DialContext,
		DisableCompression: true, // replies are passed unchanged
		// SGLang closes connections that are idle for 5 s. Close idle connections earlier, because a request on a
		// connection that the server is closing would require a retry.
		IdleConnTimeout: 4 * time.Second, MaxIdleConnsPerHost: 4096,
		TLSHandshakeTimeout: o.ConnectTimeout, MaxResponseHeaderBytes: 1 << 20,
	}
	rt.o.Log = loglimit.Log(rt.o.Log)
	rt.front = httpguard.Front{
		APIKey: o.APIKey, AdminAPIKey: o.AdminAPIKey, Insecure: o.Insecure, AllowedHosts: o.AllowedHosts,
		BodyTimeout: o.BodyTimeout, MaxBodyBytes: o.MaxBodyBytes, Log: rt.o.Log,
		Refuse: func(rw http.ResponseWriter, r *http.Request, status int, message string) {
			rt.refuse(rw, r.URL.Path, &failure{status, message})
		},
	}
	rt.handler = rt.routes()
	return rt, nil
}

// pool returns the pool of a role.
func (rt *Router) pool(role string) *pool {
	switch role {
	case api.Prefill:
		return rt.prefill
	case api.Decode:
		return rt.decode
	}
	return rt.plain
}

// canServe reports whether requests can be served. In plain mode at least one worker must be up. In PD mode at least
// one worker of each kind must be up.
func (rt *Router) canServe() bool {
	if rt.plain != nil {
		return rt.plain.up() > 0
	}
	return rt.prefill.up() > 0 && rt.decode.up() > 0
}

// upOnce closes firstUp as soon as requests can be served. It is called whenever a worker comes up.
func (rt *Router) upOnce() {
	if rt.canServe() {
		rt.first.Do(func() { close(rt.firstUp) })
	}
}

var errShutdown = errors.New("the router is shutting down")

// Serve routes requests until ctx ends. It then rejects new requests and waits at most Options.DrainTimeout for running
// requests to finish. Serve ends the remaining requests with an error event and returns. It returns an error if no
// worker comes up within Options.StartTimeout.
func (rt *Router) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(rt.failed, cancel)
	stop := rt.Start()
	defer stop()
	err := rt.front.Serve(ctx, ln, rt.handler, func(hs *http.Server) {
		rt.draining.Store(true)
		drain, cancel := context.WithTimeout(context.Background(), rt.o.DrainTimeout)
		defer cancel()
		if rt.failed.Err() != nil {
			cancel() // no request is running
		} else {
			rt.o.Log.Info("shutting down", "running", rt.inFlight(), "limit", rt.o.DrainTimeout)
		}
		if hs.Shutdown(drain) != nil {
			if n := rt.inFlight(); n > 0 {
				rt.o.Log.Warn("aborting requests at shutdown", "n", n)
			}
			rt.abortAll(errShutdown)
		}
	})
	return cmp.Or(err, context.Cause(rt.failed))
}

// Start begins to probe the workers. The returned function stops the probes, aborts running requests and waits until
// they have ended.
func (rt *Router) Start() (stop func()) {
	ctx, cancel := context.WithCancel(rt.base)
	for _, w := range rt.workers {
		rt.work.Go(func() { rt.watch(ctx, w) })
	}
	rt.work.Go(func() {
		t := time.NewTimer(rt.o.StartTimeout)
		defer t.Stop()
		select {
		case <-rt.firstUp:
		case <-ctx.Done():
		case <-t.C:
			var missing []string
			for _, w := range rt.workers {
				if !w.up.Load() {
					missing = append(missing, w.url)
				}
			}
			rt.fail(fmt.Errorf("no request can be served after %v: no answer from %s", rt.o.StartTimeout, strings.Join(missing, ", ")))
		}
	})
	return func() {
		cancel()
		rt.abortAll(errShutdown)
		rt.work.Wait()
		rt.transport.CloseIdleConnections()
	}
}

func (rt *Router) inFlight() (n int64) {
	for _, w := range rt.workers {
		n += w.running.Load()
	}
	return n
}

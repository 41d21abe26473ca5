package route

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/internal/api"
)

// worker is one server behind the router.
type worker struct {
	id   string // name in URLs and directories, such as "prefill-0"
	url  string
	role string
	host string // host of the worker's bootstrap server

	bootstrapPort atomic.Int64 // 0: unknown
	ownPort       bool         // whether the worker reported the bootstrap port, which may change when it restarts
	up            atomic.Bool
	running       atomic.Int64 // client requests in progress
	served        atomic.Int64 // completed client requests
	failed        atomic.Int64
	answered      atomic.Int64 // start of the worker's last reply, Unix ns
	poke          chan struct{}
}

func newWorker(b Backend, index int) (*worker, error) {
	u, err := url.Parse(b.URL)
	if err != nil {
		return nil, err
	}
	role := cmp.Or(b.Role, "worker")
	w := &worker{id: fmt.Sprintf("%s-%d", role, index), url: b.URL, role: b.Role, host: u.Hostname(), poke: make(chan struct{}, 1)}
	w.bootstrapPort.Store(int64(b.BootstrapPort))
	w.ownPort = b.Role == api.Prefill && b.BootstrapPort == 0
	return w, nil
}

// watch probes a worker until ctx ends. Only watch marks the worker as up.
func (rt *Router) watch(ctx context.Context, w *worker) {
	fails, passes, fresh := 0, 0, true
	for {
		wait := rt.o.HealthInterval
		quiet := time.Since(time.Unix(0, w.answered.Load()))
		if !w.up.Load() || fails > 0 || quiet >= rt.o.HealthInterval {
			err := rt.probe(ctx, w)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				passes, fails = 0, fails+1
				if w.up.Load() && (fails >= rt.o.HealthFailures || errors.Is(err, syscall.ECONNREFUSED)) {
					rt.down(w, err)
				}
			default:
				fails, passes = 0, passes+1
				if !w.up.Load() && (fresh || passes >= rt.o.HealthSuccesses) {
					fresh = false
					rt.calledUp(ctx, w)
				}
			}
			if !w.up.Load() || fails > 0 {
				wait = rt.o.retryHealth
			}
		} else {
			wait -= quiet
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-w.poke:
			t.Stop()
			if w.up.Load() {
				// The worker's state is in doubt, so an earlier reply does not prove that the worker is up.
				w.answered.Store(0)
			} else {
				passes = 0
			}
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// probe queries the worker's health.
func (rt *Router) probe(ctx context.Context, w *worker) error {
	ctx, cancel := context.WithTimeout(ctx, rt.o.HealthTimeout)
	defer cancel()
	res, err := rt.send(ctx, w, &request{method: http.MethodGet, path: rt.o.HealthPath})
	if err != nil {
		return err
	}
	io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", rt.o.HealthPath, res.Status)
	}
	return nil
}

// calledUp marks a worker as up. The worker may have been restarted with an empty cache, so calledUp discards the
// record of prompts that were sent to the worker.
func (rt *Router) calledUp(ctx context.Context, w *worker) {
	if w.ownPort {
		if port := rt.askBootstrapPort(ctx, w); port != 0 {
			w.bootstrapPort.Store(port)
		}
	}
	rt.pool(w.role).policy.forget(w)
	w.up.Store(true)
	rt.o.Log.Info("worker is up", "worker", w.id, "url", w.url)
	rt.upOnce()
}

// askBootstrapPort reads the bootstrap port from a prefill worker's launch arguments. It returns 0 if the worker does
// not report the port.
func (rt *Router) askBootstrapPort(ctx context.Context, w *worker) int64 {
	told := rt.fan(ctx, []*worker{w}, &request{method: http.MethodGet, path: "/server_info"}, nil, rt.o.HealthTimeout)[0]
	var info struct {
		Port int64 `json:"disaggregation_bootstrap_port"`
	}
	if told.Success {
		json.Unmarshal(told.body, &info) // a reply that is not JSON reports no port
	}
	return info.Port
}

// down excludes a worker until probes succeed again.
func (rt *Router) down(w *worker, err error) {
	if w.up.CompareAndSwap(true, false) {
		rt.o.Log.Warn("worker is down", "worker", w.id, "url", w.url, "err", err)
	}
	rt.doubt(w)
}

// doubt makes watch probe a worker immediately.
func (rt *Router) doubt(w *worker) {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

package route

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// metrics are the counters of the whole router.
type metrics struct {
	requests atomic.Int64
	retries  atomic.Int64
	refused  atomic.Int64
}

// Metrics serves GET /metrics without a key, as Prometheus text (exposition format 0.0.4).
func (rt *Router) Metrics(rw http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	family := func(name, kind, help string, samples func(sample func(labels string, v int64))) {
		fmt.Fprintf(&b, "# HELP sgl_router_%s %s\n# TYPE sgl_router_%s %s\n", name, help, name, kind)
		samples(func(labels string, v int64) { fmt.Fprintf(&b, "sgl_router_%s%s %d\n", name, labels, v) })
	}
	one := func(v int64) func(func(string, int64)) { return func(sample func(string, int64)) { sample("", v) } }
	each := func(v func(*worker) int64) func(func(string, int64)) {
		return func(sample func(string, int64)) {
			for _, w := range rt.workers {
				// Labels need no escaping, because neither URLs nor ids contain characters that must be escaped.
				sample(fmt.Sprintf("{worker=%q,worker_type=%q}", w.url, w.kind()), v(w))
			}
		}
	}
	family("requests_total", "counter", "Requests to generation routes.", one(rt.metrics.requests.Load()))
	family("retries_total", "counter", "Requests retried on another worker.", one(rt.metrics.retries.Load()))
	family("refused_total", "counter", "Requests that failed with an error of the router itself.", one(rt.metrics.refused.Load()))
	family("worker_health", "gauge", "1 if the worker is up.", each(func(w *worker) int64 {
		if w.up.Load() {
			return 1
		}
		return 0
	}))
	family("running_requests", "gauge", "Requests in flight on the worker.", each(func(w *worker) int64 { return w.running.Load() }))
	family("processed_requests_total", "counter", "Requests that the worker completed.", each(func(w *worker) int64 { return w.served.Load() }))
	family("worker_failures_total", "counter", "Requests that the worker did not complete.", each(func(w *worker) int64 { return w.failed.Load() }))
	rw.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	rw.Write([]byte(b.String()))
}

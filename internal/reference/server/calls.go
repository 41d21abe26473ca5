package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stepscope/stepscope/internal/base/prom"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// calls counts HTTP requests. All paths without a route are counted under one name, unlike in SGLang, which counts each
// path separately. With SGLang's method, a scanner would create many series.
type calls struct {
	mu    sync.Mutex
	count map[call]*[2]int // number started, number in progress
	ended map[call]int     // number ended, by status
}

type call struct{ path, method, status string }

func (c *calls) add(k call, begun, active int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count, c.ended = map[call]*[2]int{}, map[call]int{}
	}
	status := k.status
	k.status = ""
	if c.count[k] == nil {
		c.count[k] = &[2]int{}
	}
	c.count[k][0] += begun
	c.count[k][1] += active
	if k.status = status; status != "" {
		c.ended[k]++
	}
}

// around implements [httpguard.Front.Around].
func (c *calls) around(path string, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
	k := call{path, "other", ""}
	if k.path == "" {
		k.path = "unknown"
	}
	if slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, r.Method) {
		k.method = r.Method
	}
	c.add(k, 1, 1)
	sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		k.status = strconv.Itoa(sw.status)
		c.add(k, 0, -1)
	}()
	next(sw, r)
}

// statusWriter records the status of the reply.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap supports http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (c *calls) write(x *prom.Text) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var begun, active, ended []sample
	for k, n := range c.count {
		labels := fmt.Sprintf(`endpoint="%s",method="%s"`, prom.Escape(k.path), k.method)
		begun, active = append(begun, sample{labels, n[0]}), append(active, sample{labels, n[1]})
	}
	for k, n := range c.ended {
		ended = append(ended, sample{fmt.Sprintf(`endpoint="%s",status_code="%s",method="%s"`, prom.Escape(k.path), k.status, k.method), n})
	}
	for _, f := range []struct {
		name, help, kind string
		samples          []sample
	}{
		{"http_requests_total", "Total number of HTTP requests by endpoint and method", "counter", begun},
		{"http_responses_total", "Total number of HTTP responses by endpoint and status code", "counter", ended},
		{"http_requests_active", "Number of currently active HTTP requests", "gauge", active},
	} {
		if len(f.samples) > 0 {
			x.Header(f.name, f.help, f.kind)
		}
		sorts.By(f.samples, func(a, b sample) int { return strings.Compare(a.labels, b.labels) })
		for _, v := range f.samples {
			x.Sample(f.name, v.labels, float64(v.n))
		}
	}
}

type sample struct {
	labels string
	n      int
}

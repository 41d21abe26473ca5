package images

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/prom"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
)

// bounds are the bounds of the histograms, in s. SGLang's bounds are not known.
var bounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500}

// Values of SGLang's label "status", the outcome of a request.
const (
	succeeded = "success"
	failed    = "error"
)

// metrics are the metrics of SGLang's diffusion server. Warm-ups are not counted, because they run before the server
// accepts requests.
type metrics struct {
	mu      sync.Mutex
	total   map[string]int // number of finished requests, by status
	latency map[string]*prom.Histogram
	queued  *prom.Histogram
	stages  map[string]*prom.Histogram // by name of the stage; the denoising steps share one histogram
}

func newMetrics() *metrics {
	return &metrics{
		total: map[string]int{succeeded: 0, failed: 0}, queued: prom.NewHistogram(bounds), stages: map[string]*prom.Histogram{},
		latency: map[string]*prom.Histogram{succeeded: prom.NewHistogram(bounds), failed: prom.NewHistogram(bounds)},
	}
}

// finished counts a request.
func (m *metrics) finished(status string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total[status]++
	m.latency[status].Observe(took.Seconds())
}

// made counts the stages and steps of an image.
func (m *metrics) made(res *diffusion.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observe := func(name string, took time.Duration) {
		if m.stages[name] == nil {
			m.stages[name] = prom.NewHistogram(bounds)
		}
		m.stages[name].Observe(took.Seconds())
	}
	for _, s := range res.Stages {
		observe(s.Name, s.Time)
	}
	for _, step := range res.Steps {
		observe("DenoisingStep", step)
	}
}

// scrape is GET /metrics.
func (s *Server) scrape(w http.ResponseWriter, _ *http.Request) {
	if !s.o.EnableMetrics {
		s.refuse(w, &httpguard.Error{Status: http.StatusNotFound, Message: "metrics are off, start the server with --enable-metrics"})
		return
	}
	const prefix, server = "diffusion_", `role="monolithic",replica="0"`
	var x prom.Text
	waiting, running := s.queue.sizes()
	for _, g := range []struct {
		name, help string
		v          int
	}{{"num_queue_reqs", "The number of requests in the waiting queue.", waiting}, {"num_running_reqs", "The number of running requests.", running}} {
		x.Header(prefix+g.name, g.help, "gauge")
		x.Sample(prefix+g.name, server, float64(g.v))
	}
	m := s.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := func(status string) string { return fmt.Sprintf(`%s,status="%s",is_warmup="false"`, server, status) }
	x.Header(prefix+"requests_total", "Number of requests processed.", "counter")
	for _, status := range slices.Sorted(maps.Keys(m.total)) {
		x.Sample(prefix+"requests_total", labels(status), float64(m.total[status]))
	}
	x.Header(prefix+"request_latency_seconds", "Histogram of end-to-end request latency in seconds.", "histogram")
	for _, status := range slices.Sorted(maps.Keys(m.latency)) {
		m.latency[status].Write(&x, prefix+"request_latency_seconds", labels(status))
	}
	x.Header(prefix+"queue_time_seconds", "Histogram of the time in the waiting queue in seconds.", "histogram")
	m.queued.Write(&x, prefix+"queue_time_seconds", server+`,is_warmup="false"`)
	x.Header(prefix+"stage_host_latency_seconds", "Histogram of the wall time of stages on the host in seconds.", "histogram")
	for _, name := range slices.Sorted(maps.Keys(m.stages)) {
		m.stages[name].Write(&x, prefix+"stage_host_latency_seconds", fmt.Sprintf(`%s,stage="%s"`, server, prom.Escape(name)))
	}
	x.Reply(w)
}

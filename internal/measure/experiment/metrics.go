package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/runs"
)

// Sample is what a server's /metrics said at one moment.
type Sample struct {
	At     int64              `json:"at"` // ns since the epoch
	Values map[string]float64 `json:"values"`
}

// samplesFile is the file of a run that has the samples of its last repetition.
const samplesFile = "server-metrics.json"

// Samples are those that were kept with a run; none: the server had no /metrics.
func Samples(r *runs.Run) (out []Sample, err error) {
	text, err := os.ReadFile(r.Path(samplesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %s: %w", r.ID(), samplesFile, err)
	}
	return out, nil
}

// Standing is how the server stood; nil: the sample does not tell.
func (s *Sample) Standing() *load.Standing { return standing(s.Values) }

// scrapeEvery is how often /metrics is read while a load runs.
const scrapeEvery = time.Second

// scraped are the gauges and counters that tell how a server stood, of SGLang and
// of vLLM. Labels stay in the key: they tell ranks apart.
var scraped = []string{
	"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage", "sglang:gen_throughput", "sglang:cache_hit_rate",
	"sglang:num_retracted_reqs", "sglang:prompt_tokens_total", "sglang:generation_tokens_total", "sglang:cached_tokens_total",
	"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc",
	"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
}

// parseMetrics reads the values of what is scraped.
func parseMetrics(text string) map[string]float64 {
	out := map[string]float64{}
	for m := range client.Metrics(text) {
		if slices.Contains(scraped, m.Name) {
			out[m.Name+m.Labels] = m.Value
		}
	}
	return out
}

// scraper reads /metrics while a load runs.
type scraper struct {
	server *client.Server
	asks   bool // where there is no such route, what else tells of requests is asked, for who looks on
	last   atomic.Pointer[load.Standing]
	stop   context.CancelFunc
	done   chan []Sample
}

// scrape begins to read.
func scrape(ctx context.Context, s *client.Server, asks bool) *scraper {
	c := &scraper{server: s, asks: asks, done: make(chan []Sample, 1)}
	ctx, c.stop = context.WithCancel(ctx)
	go c.read(ctx)
	return c
}

// end gives the samples; none when the server has no such route.
func (c *scraper) end() []Sample {
	c.stop()
	return <-c.done
}

// now is how the server stood last.
func (c *scraper) now() (load.Standing, bool) {
	if s := c.last.Load(); s != nil {
		return *s, true
	}
	return load.Standing{}, false
}

func (c *scraper) read(ctx context.Context) {
	var out []Sample
	defer func() { c.done <- out }()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	route := -1 // of client.LoadRoutes; below 0: /metrics
	for {
		limited, end := context.WithTimeout(ctx, 5*time.Second)
		if route < 0 {
			text, err := c.server.Text(limited, http.MethodGet, "/metrics")
			if values := parseMetrics(text); err == nil && len(values) > 0 {
				out = append(out, Sample{At: time.Now().UnixNano(), Values: values})
				c.last.Store(standing(values))
			} else if err != nil && len(out) == 0 || len(out) == 0 && c.asks {
				route = 0 // there are none
			}
		}
		if route >= 0 {
			for ; c.asks && route < len(client.LoadRoutes); route++ {
				r, err := c.server.Ask(limited, http.MethodGet, client.LoadRoutes[route], nil)
				if err == nil && len(r.Loads()) > 0 {
					c.last.Store(standingOf(r.Loads()))
					break
				}
			}
			if !c.asks || route == len(client.LoadRoutes) {
				end()
				return
			}
		}
		end()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// standing is how a server stands by its metrics; nil: they do not tell.
func standing(values map[string]float64) *load.Standing {
	one := []Sample{{Values: values}}
	running, _, ok := figure(one, false, runningNames...)
	queued, _, also := figure(one, false, queuedNames...)
	kv, _, usage := figure(one, true, usageNames...)
	if !usage {
		kv = -1
	}
	if !ok && !also {
		return nil
	}
	return &load.Standing{Running: running, Queued: queued, KV: kv}
}

// standingOf is how it stands by what its replicas say.
func standingOf(loads []client.Load) *load.Standing {
	out := &load.Standing{KV: -1}
	value := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return *v
	}
	for _, l := range loads {
		out.Queued += value(l.Waiting)
		if l.Running != nil {
			out.Running += *l.Running
		} else {
			out.Running += max(value(l.Requests)-value(l.Waiting), 0)
		}
		if l.Usage != nil {
			out.KV = max(out.KV, *l.Usage)
		}
	}
	return out
}

// A server's first requests, and its first seconds, are those of compilation, of loading
// modules, and of allocation.
const (
	fewRequests = 2 // that servers send themselves when they start
	youngFor    = time.Minute
)

// young says that a server has only begun, by what it tells at /metrics before a load of
// which it has had the warm-up; "": it has not, or does not tell.
func young(ctx context.Context, s *client.Server, warmup int) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := s.Text(ctx, http.MethodGet, "/metrics")
	if err != nil {
		return ""
	}
	return youngBy(text, warmup)
}

func youngBy(text string, warmup int) string {
	served, tells, began := 0.0, false, 0.0
	for m := range client.Metrics(text) {
		switch m.Name {
		case "sglang:num_requests_total", "vllm:request_success_total":
			served, tells = served+m.Value, true
		case "process_start_time_seconds":
			began = m.Value
		}
	}
	const what = ": what the window holds may be its cold start (compilation, modules, allocation), not how it runs; warm it up first (--warmup-requests)"
	up := time.Since(time.Unix(int64(began), 0))
	switch {
	case began > 0 && up < youngFor:
		return fmt.Sprintf("The server started %.0f s ago%s", max(up.Seconds(), 0), what)
	case tells && served <= float64(warmup+fewRequests):
		return fmt.Sprintf("The server has served %.0f request(s) since it started, this benchmark's warm-up among them%s", served, what)
	}
	return ""
}

// What a server calls the requests that it works on, those that wait, and the share of its KV cache in use.
var (
	runningNames = []string{"sglang:num_running_reqs", "vllm:num_requests_running"}
	queuedNames  = []string{"sglang:num_queue_reqs", "vllm:num_requests_waiting"}
	usageNames   = []string{"sglang:token_usage", "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"}
)

// figure is the sum over ranks of what has any of the names, but of shares the largest, in
// the mean and at most.
func figure(samples []Sample, share bool, names ...string) (mean, most float64, ok bool) {
	for _, s := range samples {
		v := 0.0
		for key, x := range s.Values {
			for _, n := range names {
				if key != n && !strings.HasPrefix(key, n+"{") {
					continue
				}
				if ok = true; share {
					v = max(v, x)
				} else {
					v += x
				}
			}
		}
		mean += v / float64(len(samples))
		most = max(most, v)
	}
	return mean, most, ok
}

// Standing sums the samples up, in a line for people; "" when there are none.
func Standing(samples []Sample) string {
	if len(samples) == 0 {
		return ""
	}
	var parts []string
	if mean, most, ok := figure(samples, false, runningNames...); ok {
		parts = append(parts, fmt.Sprintf("%.1f requests running on average, %.0f at most", mean, most))
	}
	if mean, most, ok := figure(samples, false, queuedNames...); ok {
		parts = append(parts, fmt.Sprintf("%.1f queued, %.0f at most", mean, most))
	}
	if _, most, ok := figure(samples, true, usageNames...); ok {
		parts = append(parts, fmt.Sprintf("KV cache %.0f %% full at most", 100*most))
	}
	if _, most, ok := figure(samples, false, "sglang:num_retracted_reqs"); ok && most > 0 {
		parts = append(parts, fmt.Sprintf("%.0f requests retracted at once", most))
	}
	return fmt.Sprintf("%s (%d samples of /metrics)", strings.Join(parts, "; "), len(samples))
}

package experiment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/runs"
)

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
	last   atomic.Pointer[runs.ServerState]
	stop   context.CancelFunc
	done   chan []runs.Sample
}

// scrape begins to read.
func scrape(ctx context.Context, s *client.Server, asks bool) *scraper {
	c := &scraper{server: s, asks: asks, done: make(chan []runs.Sample, 1)}
	ctx, c.stop = context.WithCancel(ctx)
	go c.read(ctx)
	return c
}

// end gives the samples; none when the server has no such route.
func (c *scraper) end() []runs.Sample {
	c.stop()
	return <-c.done
}

// now is how the server stood last.
func (c *scraper) now() (runs.ServerState, bool) {
	if s := c.last.Load(); s != nil {
		return *s, true
	}
	return runs.ServerState{}, false
}

func (c *scraper) read(ctx context.Context) {
	var out []runs.Sample
	defer func() { c.done <- out }()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	route := -1 // of client.LoadRoutes; below 0: /metrics
	for {
		limited, end := context.WithTimeout(ctx, 5*time.Second)
		if route < 0 {
			text, err := c.server.Text(limited, http.MethodGet, "/metrics")
			if values := parseMetrics(text); err == nil && len(values) > 0 {
				out = append(out, runs.Sample{At: time.Now().UnixNano(), Values: values})
				c.last.Store(out[len(out)-1].State())
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

// standingOf is how it stands by what its replicas say.
func standingOf(loads []client.Load) *runs.ServerState {
	out := &runs.ServerState{KV: -1}
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

// figure returns the mean and the maximum over samples of a figure of each; ok is false if no sample has it.
func figure(samples []runs.Sample, of func(*runs.Sample) (float64, bool)) (mean, most float64, ok bool) {
	for i := range samples {
		v, has := of(&samples[i])
		ok = ok || has
		mean += v / float64(len(samples))
		most = max(most, v)
	}
	return mean, most, ok
}

// sum and largest are figures of the metrics of any of the names.
func sum(names ...string) func(*runs.Sample) (float64, bool) {
	return func(s *runs.Sample) (float64, bool) { return s.Sum(names...) }
}

func largest(names ...string) func(*runs.Sample) (float64, bool) {
	return func(s *runs.Sample) (float64, bool) { return s.Max(names...) }
}

// Standing sums the samples up, in a line for people; "" when there are none.
func Standing(samples []runs.Sample) string {
	if len(samples) == 0 {
		return ""
	}
	var parts []string
	if mean, most, ok := figure(samples, sum(runs.RunningNames...)); ok {
		parts = append(parts, fmt.Sprintf("%.1f requests running on average, %.0f at most", mean, most))
	}
	if mean, most, ok := figure(samples, sum(runs.QueuedNames...)); ok {
		parts = append(parts, fmt.Sprintf("%.1f queued, %.0f at most", mean, most))
	}
	if _, most, ok := figure(samples, largest(runs.UsageNames...)); ok {
		parts = append(parts, fmt.Sprintf("KV cache %.0f %% full at most", 100*most))
	}
	if _, most, ok := figure(samples, sum("sglang:num_retracted_reqs")); ok && most > 0 {
		parts = append(parts, fmt.Sprintf("%.0f requests retracted at once", most))
	}
	return fmt.Sprintf("%s (%d samples of /metrics)", strings.Join(parts, "; "), len(samples))
}

package experiment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/runs"
)

// scrapeEvery is the interval at which /metrics is read during a load.
const scrapeEvery = time.Second

// scraped lists the gauges and counters of SGLang and vLLM that describe the load of a server. The key of a metric
// includes the labels, because the labels identify ranks.
var scraped = []string{
	"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage", "sglang:gen_throughput", "sglang:cache_hit_rate",
	"sglang:num_retracted_reqs", "sglang:prompt_tokens_total", "sglang:generation_tokens_total", "sglang:cached_tokens_total",
	"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc",
	"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
	"vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
}

// prefixCache returns the use of the prefix cache during the samples, from the counters of vLLM; nil: it has none. vLLM
// reports cached tokens in its replies only with --enable-prompt-tokens-details.
func prefixCache(samples []runs.Sample) *bench.Cache {
	if len(samples) < 2 {
		return nil
	}
	grown := func(name string) int {
		from, _ := samples[0].Sum(name)
		to, _ := samples[len(samples)-1].Sum(name)
		return int(to - from)
	}
	c := &bench.Cache{Prompt: grown("vllm:prefix_cache_queries_total"), Cached: grown("vllm:prefix_cache_hits_total")}
	if c.Prompt <= 0 || c.Cached < 0 {
		return nil
	}
	c.HitRate = float64(c.Cached) / float64(c.Prompt)
	return c
}

// parseMetrics returns the values of the scraped metrics.
func parseMetrics(text string) map[string]float64 {
	out := map[string]float64{}
	for m := range client.Metrics(text) {
		if slices.Contains(scraped, m.Name) || isSpeculative(m.Name) {
			out[m.Name+m.Labels] = m.Value
		}
	}
	return out
}

// scraper reads /metrics during a load.
type scraper struct {
	server *client.Server
	asks   bool // if the server has no /metrics, read the load routes instead, for display only
	last   atomic.Pointer[runs.ServerState]
	stop   context.CancelFunc
	done   chan []runs.Sample
}

// scrape starts reading.
func scrape(ctx context.Context, s *client.Server, asks bool) *scraper {
	c := &scraper{server: s, asks: asks, done: make(chan []runs.Sample, 1)}
	ctx, c.stop = context.WithCancel(ctx)
	go c.read(ctx)
	return c
}

// end stops reading and returns the samples, the last of them taken now. If the server has no /metrics, there are no
// samples.
func (c *scraper) end(ctx context.Context) []runs.Sample {
	c.stop()
	out := <-c.done
	if len(out) > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if s, ok := c.sample(ctx); ok {
			out = append(out, s)
		}
	}
	return out
}

// sample reads /metrics once.
func (c *scraper) sample(ctx context.Context) (s runs.Sample, ok bool) {
	text, err := c.server.Text(ctx, http.MethodGet, "/metrics")
	values := parseMetrics(text)
	return runs.Sample{At: time.Now().UnixNano(), Values: values}, err == nil && len(values) > 0
}

// now returns the latest known state of the server.
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
	route := -1 // index in client.LoadRoutes; below 0: /metrics
	for {
		limited, end := context.WithTimeout(ctx, 5*time.Second)
		if route < 0 {
			text, err := c.server.Text(limited, http.MethodGet, "/metrics")
			if values := parseMetrics(text); err == nil && len(values) > 0 {
				out = append(out, runs.Sample{At: time.Now().UnixNano(), Values: values})
				c.last.Store(out[len(out)-1].State())
			} else if err != nil && len(out) == 0 || len(out) == 0 && c.asks {
				route = 0 // the server has no /metrics
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

// standingOf computes the server's state from its replicas' loads.
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

// During its first requests and its first seconds, a server compiles kernels, loads modules and allocates memory.
const (
	fewRequests = 2 // number of requests that a server sends to itself at startup
	youngFor    = time.Minute
)

// young returns a warning if the server has only just started. Otherwise, or if the age of the server is unknown, it
// returns "". It reads /metrics after the warm-up and before the load.
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
	const what = ": the window may show its cold start (compilation, module loading, allocation) rather than its normal operation; warm it up first (--warmup-requests)"
	up := time.Since(time.Unix(int64(began), 0))
	switch {
	case began > 0 && up < youngFor:
		return fmt.Sprintf("The server started %.0f s ago%s", max(up.Seconds(), 0), what)
	case tells && served <= float64(warmup+fewRequests):
		return fmt.Sprintf("The server has served %.0f request(s) since it started, including this benchmark's warm-up%s", served, what)
	}
	return ""
}

// figure returns the mean and the maximum of a figure over the samples. If no sample has the figure, ok is false.
func figure(samples []runs.Sample, of func(*runs.Sample) (float64, bool)) (mean, most float64, ok bool) {
	for i := range samples {
		v, has := of(&samples[i])
		ok = ok || has
		mean += v / float64(len(samples))
		most = max(most, v)
	}
	return mean, most, ok
}

// sum returns a function that computes the sum of all metrics of a sample that have one of the names. largest returns a
// function that computes the maximum of these metrics.
func sum(names ...string) func(*runs.Sample) (float64, bool) {
	return func(s *runs.Sample) (float64, bool) { return s.Sum(names...) }
}

func largest(names ...string) func(*runs.Sample) (float64, bool) {
	return func(s *runs.Sample) (float64, bool) { return s.Max(names...) }
}

// Standing summarizes the samples in one line. It returns "" if there are no samples.
func Standing(samples []runs.Sample) string {
	if len(samples) == 0 {
		return ""
	}
	var parts []string
	if mean, most, ok := figure(samples, sum(runs.RunningNames...)); ok {
		parts = append(parts, fmt.Sprintf("%.1f requests running on average, at most %.0f", mean, most))
	}
	if mean, most, ok := figure(samples, sum(runs.QueuedNames...)); ok {
		parts = append(parts, fmt.Sprintf("%.1f queued, at most %.0f", mean, most))
	}
	if _, most, ok := figure(samples, largest(runs.UsageNames...)); ok {
		parts = append(parts, fmt.Sprintf("KV cache at most %.0f %% full", 100*most))
	}
	if _, most, ok := figure(samples, sum("sglang:num_retracted_reqs")); ok && most > 0 {
		parts = append(parts, fmt.Sprintf("%.0f requests retracted at once", most))
	}
	return fmt.Sprintf("%s (%d samples of /metrics)", strings.Join(parts, "; "), len(samples))
}

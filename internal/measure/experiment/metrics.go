package experiment

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Sample is what a server's /metrics said at one moment.
type Sample struct {
	At     int64              `json:"at"` // ns since the epoch
	Values map[string]float64 `json:"values"`
}

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

// scrape reads /metrics until stop is called, which gives the samples; none when
// the server has no such route.
func scrape(ctx context.Context, s *client.Server) (stop func() []Sample) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []Sample, 1)
	go func() {
		var out []Sample
		defer func() { done <- out }()
		tick := time.NewTicker(scrapeEvery)
		defer tick.Stop()
		for {
			limited, end := context.WithTimeout(ctx, 5*time.Second)
			text, err := s.Text(limited, http.MethodGet, "/metrics")
			end()
			if err != nil && len(out) == 0 {
				return // there are none
			}
			if values := parseMetrics(text); err == nil && len(values) > 0 {
				out = append(out, Sample{At: time.Now().UnixNano(), Values: values})
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() []Sample {
		cancel()
		return <-done
	}
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

// Standing sums the samples up, in a line for people; "" when there are none.
func Standing(samples []Sample) string {
	if len(samples) == 0 {
		return ""
	}
	// Each is the sum over ranks, but for shares, of which the largest counts.
	figure := func(share bool, names ...string) (mean, most float64, ok bool) {
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
	var parts []string
	if mean, most, ok := figure(false, "sglang:num_running_reqs", "vllm:num_requests_running"); ok {
		parts = append(parts, fmt.Sprintf("%.1f requests running on average, %.0f at most", mean, most))
	}
	if mean, most, ok := figure(false, "sglang:num_queue_reqs", "vllm:num_requests_waiting"); ok {
		parts = append(parts, fmt.Sprintf("%.1f queued, %.0f at most", mean, most))
	}
	if _, most, ok := figure(true, "sglang:token_usage", "vllm:gpu_cache_usage_perc", "vllm:kv_cache_usage_perc"); ok {
		parts = append(parts, fmt.Sprintf("KV cache %.0f %% full at most", 100*most))
	}
	if _, most, ok := figure(false, "sglang:num_retracted_reqs"); ok && most > 0 {
		parts = append(parts, fmt.Sprintf("%.0f requests retracted at once", most))
	}
	return fmt.Sprintf("%s (%d samples of /metrics)", strings.Join(parts, "; "), len(samples))
}

package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// Unlike is a difference between two loads, or between their servers, that may explain a change in the figures.
type Unlike struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
	// Refuses means that loads with this difference are not comparable.
	Refuses bool `json:"refuses"`
	// Of names the thing that differs: the load or the server. A difference between servers may be the purpose of the
	// comparison.
	Of string `json:"of"`
}

// String describes the difference, as in "request rate: 4.0 against 8.0".
func (u Unlike) String() string { return fmt.Sprintf("%s: %s against %s", u.What, u.A, u.B) }

// Values of Unlike.Of.
const (
	ofLoad   = "load"
	ofServer = "server"
)

// unlikeLoads lists the differences between the loads, the most serious first.
func unlikeLoads(a, b *half) (out []Unlike) {
	if len(a.load.Runs) == 0 || len(b.load.Runs) == 0 {
		return nil
	}
	x, y := a.load.Runs[0].Run, b.load.Runs[0].Run
	add := func(what string, u, v any, refuses bool) {
		// Older versions did not record some of these settings.
		if u, v := fmt.Sprint(u), fmt.Sprint(v); u != v && u != "" && v != "" {
			out = append(out, Unlike{what, u, v, refuses, ofLoad})
		}
	}
	add("model", x.Model, y.Model, true)
	add("data set", x.Dataset, y.Dataset, true)
	add("request rate", x.RateText(), y.RateText(), false)
	limit := func(n int) any {
		if n == 0 {
			return "none"
		}
		return n
	}
	add("maximum concurrency", limit(x.MaxConcurrency), limit(y.MaxConcurrency), false)
	for _, f := range []struct {
		name string
		of   func(*Summary) int
	}{{"prompt", func(s *Summary) int { return s.InputTokens }}, {"reply", func(s *Summary) int { return s.OutputTokens }}} {
		if u, v := a.mean(f.of), b.mean(f.of); max(u, v) > 1.05*min(u, v) {
			add("mean "+f.name+" tokens", fmt.Sprintf("%.1f", u), fmt.Sprintf("%.1f", v), false)
		}
	}
	add("seed", x.Seed, y.Seed, false)
	windows := func(h *half) string {
		return profilerUse(slices.ContainsFunc(h.load.Runs, func(m Measured) bool { return len(m.Run.Profiled) > 0 }))
	}
	add("profiler", windows(a), windows(b), false)
	if u, v := a.cached(), b.cached(); math.Abs(u-v) > cachedAlike {
		out = append(out, Unlike{"cached share of prompt tokens (--flush-cache empties the cache first)", metric.Percent(u), metric.Percent(v), true, ofLoad})
	}
	for _, key := range keys(x.Args, y.Args) {
		add(strings.ReplaceAll(key, "_", " "), x.Args[key], y.Args[key], false)
	}
	add("backend", x.Backend, y.Backend, false)
	return append(out, UnlikeServers(x.ServerInfo, y.ServerInfo)...)
}

// profilerUse describes whether a profiler ran.
func profilerUse(ran bool) string {
	if ran {
		return "on (--profile)"
	}
	return "off"
}

// mean is the mean number of tokens per successful request.
func (h *half) mean(of func(*Summary) int) float64 {
	var sum, n float64
	for _, s := range h.summaries {
		sum, n = sum+float64(of(s)), n+float64(s.Completed)
	}
	return sum / max(n, 1)
}

// cachedAlike is the maximum difference between comparable loads in the share of prompt tokens found in the cache.
// Cached tokens need no prefill. If a run is repeated on the same server, the repetition finds the prompts in the cache
// and is not comparable with the first run.
const cachedAlike = 0.1

// cached returns the share of prompt tokens found in the cache, as the mean over the runs that report this share. If no
// run reports it, cached returns 0.
func (h *half) cached() float64 {
	var shares []float64
	for _, s := range h.summaries {
		if s.Cache != nil {
			shares = append(shares, s.Cache.HitRate)
		}
	}
	if len(shares) == 0 {
		return 0
	}
	return metric.Mean(shares)
}

// keys returns the keys that a and b have in common.
func keys(a, b map[string]any) (out []string) {
	for key := range a {
		if v, ok := b[key]; ok && v != nil && a[key] != nil {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// passing lists server properties that are not settings, because their values change at every start of the server.
var passing = map[string]bool{
	"host": true, "port": true, "nccl_port": true, "dist_init_addr": true, "status": true, "random_seed": true, "node_rank": true,
	"max_total_num_tokens": true, "max_req_input_len": true, "base_gpu_id": true, "disaggregation_bootstrap_port": true, "uptime": true, "api_key": true, "admin_api_key": true,
	"model_path": true, "tokenizer_path": true, "served_model_name": true, // the model is compared by its name
}

// UnlikeServers lists the settings in which two servers differ, according to their own descriptions.
func UnlikeServers(a, b map[string]any) (out []Unlike) {
	var names []string
	for key := range maps.Keys(a) {
		if _, ok := b[key]; ok && !passing[key] && !strings.HasSuffix(key, "_port") {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	for _, key := range names {
		u, ok := setting(a[key])
		v, too := setting(b[key])
		if ok && too && u != v {
			out = append(out, Unlike{"server's " + key, u, v, false, ofServer})
		}
	}
	return out
}

// setting returns a value as text. For composite values, which describe state rather than settings, ok is false.
func setting(v any) (text string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "none", true
	case string:
		return v, true
	case bool:
		return fmt.Sprint(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return fmt.Sprintf("%.0f", v), true
		}
		return fmt.Sprint(v), true
	case int, int64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// refuse withdraws the verdict if the loads are too different or badly timed, unless force is set.
func (c *Comparison) refuse(force bool) {
	c.Refused = !force && (len(c.Mistimed) > 0 || slices.ContainsFunc(c.Unlike, func(u Unlike) bool { return u.Refuses }))
}

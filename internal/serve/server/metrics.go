package server

import (
	"cmp"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/serve/prom"
)

// Bounds of SGLang's histograms (srt/observability/metrics_collector.py).
var (
	boundsTTFT = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
	boundsE2E  = append(boundsTTFT[:len(boundsTTFT):len(boundsTTFT)], 600, 1200, 1800, 2400)
	boundsITL  = []float64{.002, .004, .006, .008, .010, .015, .020, .025, .030, .035, .040, .060, .080, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8}
	// Of KV transfers; SGLang's bounds of these are not known.
	boundsTransferMS  = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	boundsTransferGBs = []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100}
	boundsLen         = []float64{
		100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 12500, 15000, 17500, 20000,
		22500, 25000, 27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1000000, 1100000,
	}
)

// metrics are the counters and histograms of finished requests. Index 0 is for
// requests that did not stream, 1 for those that did.
type metrics struct {
	model string

	ttfts, e2e, tpot         [2]*prom.Histogram // s
	itl                      *prom.Histogram    // s
	prompt, uncached, output *prom.Histogram    // tokens

	transferMS, transferGBs *prom.Histogram
	lastMS, lastGBs         atomic.Uint64 // bits of float64

	requests, promptTokens, outputTokens [2]atomic.Int64
	cachedTokens, aborted                atomic.Int64
}

func newMetrics(model string) *metrics {
	m := &metrics{
		model: model, itl: prom.NewHistogram(boundsITL),
		prompt: prom.NewHistogram(boundsLen), uncached: prom.NewHistogram(boundsLen), output: prom.NewHistogram(boundsLen),
		transferMS: prom.NewHistogram(boundsTransferMS), transferGBs: prom.NewHistogram(boundsTransferGBs),
	}
	for i := range 2 {
		m.ttfts[i], m.e2e[i], m.tpot[i] = prom.NewHistogram(boundsTTFT), prom.NewHistogram(boundsE2E), prom.NewHistogram(boundsITL)
	}
	return m
}

func streamIndex(stream bool) int {
	if stream {
		return 1
	}
	return 0
}

func (m *metrics) ttft(stream bool) *prom.Histogram { return m.ttfts[streamIndex(stream)] }

// finished counts a sequence that ended; q.b.mu is held.
func (s *Server) finished(q *sequence, now time.Time) {
	if q.req.Probe {
		return
	}
	m, k := s.metrics, streamIndex(q.b.stream)
	m.requests[k].Add(1)
	m.promptTokens[k].Add(int64(len(q.req.Input)))
	m.outputTokens[k].Add(int64(q.n))
	m.cachedTokens.Add(int64(q.cached))
	if q.finish.Type == api.FinishAbort {
		m.aborted.Add(1)
	}
	m.e2e[k].Observe(q.e2e.Seconds())
	if q.n > 1 {
		m.tpot[k].Observe(now.Sub(q.firstToken).Seconds() / float64(q.n-1))
	}
	m.prompt.Observe(float64(len(q.req.Input)))
	m.uncached.Observe(float64(len(q.req.Input) - q.cached))
	m.output.Observe(float64(q.n))
	s.logFinished(q)
}

// gauges are read from the engine at each scrape. Those of features this server
// does not have are 0, as SGLang's are when the feature is off, so that its
// dashboards find them.
var gauges = []struct {
	name, help string
	value      func(s *Server, st *api.Stats) float64
}{
	{"num_running_reqs", "The number of running requests.", func(_ *Server, st *api.Stats) float64 { return float64(st.Running) }},
	{"num_queue_reqs", "The number of requests in the waiting queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Waiting) }},
	{"num_grammar_queue_reqs", "The number of requests in the grammar waiting queue.", nil},
	{"gen_throughput", "The generation throughput (token/s).", func(_ *Server, st *api.Stats) float64 { return st.GenThroughput }},
	{"cache_hit_rate", "The prefix cache hit rate.", func(_ *Server, st *api.Stats) float64 { return st.CacheHitRate }},
	{"decode_sum_seq_lens", "The sum of all sequence lengths in decode.", func(_ *Server, st *api.Stats) float64 { return float64(st.SumSeqLens) }},
	{"token_usage", "The token usage.", (*Server).tokenUsage},
	{"full_token_usage", "The token usage for full attention layers.", (*Server).tokenUsage},
	{"swa_token_usage", "The token usage for SWA layers.", nil},
	{"mamba_usage", "The token usage for Mamba layers.", nil},
	{"num_used_tokens", "The number of used tokens.", func(_ *Server, st *api.Stats) float64 { return float64(st.UsedTokens) }},
	{"kv_available_tokens", "Number of free token slots in the KV cache pool.", func(_ *Server, st *api.Stats) float64 { return float64(st.FreeTokens) }},
	{"kv_evictable_tokens", "Number of evictable (radix-cached) token slots in the KV cache pool.", func(_ *Server, st *api.Stats) float64 { return float64(st.EvictableTokens) }},
	{"kv_used_tokens", "Number of actively used token slots in the KV cache pool.", func(_ *Server, st *api.Stats) float64 { return float64(st.UsedTokens) }},
	{"spec_accept_length", "Mean acceptance length of speculative decoding.", nil},
	{"spec_accept_rate", "Speculative acceptance rate.", nil},
	{"num_retracted_reqs", "The number of retracted requests.", func(_ *Server, st *api.Stats) float64 { return float64(st.Retracted) }},
	{"num_paused_reqs", "The number of paused requests by async weight sync.", nil},
	{"num_prefill_bootstrap_queue_reqs", "The number of requests in the prefill bootstrap queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Bootstrap) }},
	{"num_prefill_inflight_queue_reqs", "The number of requests in the prefill inflight queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Inflight) }},
	{"num_decode_prealloc_queue_reqs", "The number of requests in the decode prealloc queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Prealloc) }},
	{"num_decode_transfer_queue_reqs", "The number of requests in the decode transfer queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Transfer) }},
	{"utilization", "The utilization.", func(_ *Server, st *api.Stats) float64 { return st.Utilization }},
	{"fwd_occupancy", "Forward pass GPU occupancy percentage.", nil},
	{"new_token_ratio", "The new token ratio.", func(_ *Server, st *api.Stats) float64 { return st.NewTokenRatio }},
	{"is_cuda_graph", "Whether the batch is using CUDA graph.", func(_ *Server, st *api.Stats) float64 {
		if st.Graph {
			return 1
		}
		return 0
	}},
}

// tokenUsage is the fraction of the KV cache that running requests hold.
func (s *Server) tokenUsage(st *api.Stats) float64 {
	if s.info.TokenCapacity == 0 {
		return 0
	}
	return float64(st.UsedTokens) / float64(s.info.TokenCapacity)
}

// scrape is GET /metrics.
func (s *Server) scrape(w http.ResponseWriter, _ *http.Request) {
	if !s.o.EnableMetrics {
		s.refuse(w, dialectGeneral, &apiError{status: http.StatusNotFound, message: "metrics are off, start the server with --enable-metrics"})
		return
	}
	var x prom.Text
	stats := s.engine.Stats()
	rank := make([]string, len(stats))
	kind := cmp.Or(s.info.Role, "unified")
	for i, st := range stats {
		rank[i] = fmt.Sprintf(`model_name="%s",engine_type="%s",tp_rank="0",pp_rank="0",dp_rank="%d"`, prom.Escape(s.name), kind, st.DPRank)
	}
	for _, g := range gauges {
		x.Header(g.name, g.help, "gauge")
		for i := range stats {
			v := 0.0
			if g.value != nil {
				v = g.value(s, &stats[i])
			}
			x.Sample(g.name, rank[i], v)
		}
	}
	for _, c := range []struct {
		name, help string
		value      func(*api.Stats) int64
	}{
		{"num_retracted_requests_total", "Total number of retracted requests.", func(st *api.Stats) int64 { return st.RetractedRequests }},
		{"num_retracted_input_tokens_total", "Total number of retracted input tokens.", func(st *api.Stats) int64 { return st.RetractedInput }},
		{"num_retracted_output_tokens_total", "Total number of retracted output tokens.", func(st *api.Stats) int64 { return st.RetractedOutput }},
		{"num_bootstrap_failed_reqs_total", "The number of bootstrap failed requests.", func(st *api.Stats) int64 { return st.BootstrapFailed }},
		{"num_transfer_failed_reqs_total", "The number of transfer failed requests.", func(st *api.Stats) int64 { return st.TransferFailed }},
	} {
		x.Header(c.name, c.help, "counter")
		for i := range stats {
			x.Sample(c.name, rank[i], float64(c.value(&stats[i])))
		}
	}
	s.metrics.write(&x)
	x.Reply(w)
}

// write appends the metrics of requests.
func (m *metrics) write(x *prom.Text) {
	model := `model_name="` + prom.Escape(m.model) + `"`
	byStream := [2]string{model + `,is_streaming="false"`, model + `,is_streaming="true"`}
	split := func(name, help string, v *[2]atomic.Int64) {
		x.Header(name, help, "counter")
		for i := range v {
			x.Sample(name, byStream[i], float64(v[i].Load()))
		}
	}
	split("prompt_tokens_total", "Number of prefill tokens processed.", &m.promptTokens)
	split("generation_tokens_total", "Number of generation tokens processed.", &m.outputTokens)
	x.Header("cached_tokens_total", "Number of cached prompt tokens by source (device/host/storage).", "counter")
	x.Sample("cached_tokens_total", model+`,cache_source="device"`, float64(m.cachedTokens.Load()))
	split("num_requests_total", "Number of requests processed.", &m.requests)
	x.Header("num_so_requests_total", "Number of structured output requests processed.", "counter")
	x.Sample("num_so_requests_total", model, 0)
	x.Header("num_aborted_requests_total", "Number of requests aborted.", "counter")
	x.Sample("num_aborted_requests_total", model, float64(m.aborted.Load()))
	x.Header("spec_verify_calls_total", "Number of speculative verification calls.", "counter")
	x.Sample("spec_verify_calls_total", model, 0)

	splitHist := func(name, help string, h *[2]*prom.Histogram) {
		x.Header(name, help, "histogram")
		for i := range h {
			h[i].Write(x, name, byStream[i])
		}
	}
	hist := func(name, help string, h *prom.Histogram) {
		x.Header(name, help, "histogram")
		h.Write(x, name, model)
	}
	splitHist("time_to_first_token_seconds", "Histogram of time to first token in seconds.", &m.ttfts)
	hist("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	splitHist("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", &m.e2e)
	// One value for each request: (finished - first token) / (tokens - 1). Two
	// names: newer and older servers.
	splitHist("request_time_per_output_token_seconds", "Per-request TPOT in seconds.", &m.tpot)
	splitHist("time_per_output_token_seconds", "Histogram of time per output token in seconds.", &m.tpot)
	hist("prompt_tokens_histogram", "Histogram of prompt token length.", m.prompt)
	hist("uncached_prompt_tokens_histogram", "Histogram of uncached (compute) prompt token length.", m.uncached)
	hist("generation_tokens_histogram", "Histogram of generation token length.", m.output)
	hist("kv_transfer_speed_gb_s", "Histogram of KV cache transfer speed in GB/s.", m.transferGBs)
	hist("kv_transfer_latency_ms", "Histogram of KV cache transfer latency in ms.", m.transferMS)
}

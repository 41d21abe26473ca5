package server

import (
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/prom"
)

// Bounds of SGLang's histograms (srt/observability/metrics_collector.py).
var (
	boundsTTFT = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400}
	boundsE2E  = append(boundsTTFT[:len(boundsTTFT):len(boundsTTFT)], 600, 1200, 1800, 2400)
	boundsITL  = []float64{.002, .004, .006, .008, .010, .015, .020, .025, .030, .035, .040, .060, .080, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8}
	// KV transfers.
	boundsTransferMS  = []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000}
	boundsTransferGBs = []float64{.1, .5, 1, 5, 10, 25, 50, 100, 200, 400}
	boundsTransferMB  = []float64{1, 5, 10, 50, 100, 500, 1000, 5000, 10000}
	boundsQueue       = []float64{
		0, .001, .005, .01, .05, .1, .2, .5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600, 700, 800, 900,
		1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000,
	}
	boundsStage = func() (out []float64) { // exponential
		for v := .001; len(out) < 30; v *= 1.62 {
			out = append(out, v)
		}
		return out
	}()
	boundsLoads = []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1}
	boundsLen   = []float64{
		100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 12500, 15000, 17500, 20000,
		22500, 25000, 27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1000000, 1100000,
	}
)

// metrics are the counters and histograms of finished requests. Index 0 is for requests without streaming, index 1 for
// requests with streaming.
type metrics struct {
	labels string // common labels

	ttfts, e2e, tpot         [2]*prom.Histogram // s
	itl                      *prom.Histogram    // s
	prompt, uncached, output *prom.Histogram    // tokens

	queue, prefill                      []*prom.Histogram // s, per data-parallel rank
	loads                               *prom.Histogram   // s
	transferMS, transferGBs, transferMB *prom.Histogram
	calls                               calls
	lastMS, lastGBs                     atomic.Uint64 // bits of float64

	requests, promptTokens, outputTokens [2]atomic.Int64
	cachedTokens, aborted                atomic.Int64
}

func newMetrics(labels string, ranks int) *metrics {
	m := &metrics{
		labels: labels, itl: prom.NewHistogram(boundsITL),
		prompt: prom.NewHistogram(boundsLen), uncached: prom.NewHistogram(boundsLen), output: prom.NewHistogram(boundsLen),
		transferMS: prom.NewHistogram(boundsTransferMS), transferGBs: prom.NewHistogram(boundsTransferGBs), transferMB: prom.NewHistogram(boundsTransferMB),
		loads: prom.NewHistogram(boundsLoads),
	}
	for range ranks {
		m.queue, m.prefill = append(m.queue, prom.NewHistogram(boundsQueue)), append(m.prefill, prom.NewHistogram(boundsStage))
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

// finished counts a sequence that has ended. The caller holds q.b.mu.
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

// gauges are read from the engine at each scrape. Gauges of features that this server lacks are 0, as they are in
// SGLang when the feature is off, so that SGLang's dashboards find these gauges.
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
	{"swa_available_tokens", "Number of free token slots in the SWA pool (hybrid-SWA only).", nil},
	{"swa_evictable_tokens", "Number of evictable (radix-cached) token slots in the SWA pool.", nil},
	{"swa_used_tokens", "Number of actively used token slots in the SWA pool.", nil},
	{"mamba_available_tokens", "Number of free state slots in the mamba SSM pool (hybrid-SSM only).", nil},
	{"mamba_evictable_tokens", "Number of evictable (radix-cached) state slots in the mamba SSM pool.", nil},
	{"mamba_used_tokens", "Number of actively used state slots in the mamba SSM pool.", nil},
	{"spec_accept_length", "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward).", nil},
	{"spec_accept_rate", "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).", nil},
	{"spec_cap_length", "Mean DSpark confidence-scheduled verify window per verify step, incl the bonus slot (0 when no cap is scheduled).", nil},
	{"spec_block_accept_length", "Mean uncapped full-block accept length per verify step (accept + cap-trimmed drafts; exact only in DSpark cap-accept mode).", nil},
	{"spec_num_steps", "Currently active speculative_num_steps.", nil},
	{"spec_num_draft_tokens", "Currently active speculative_num_draft_tokens (decouples from steps under topk>1).", nil},
	{"num_retracted_reqs", "The number of retracted requests.", func(_ *Server, st *api.Stats) float64 { return float64(st.Retracted) }},
	{"num_paused_reqs", "The number of paused requests by async weight sync.", nil},
	{"num_prefill_bootstrap_queue_reqs", "The number of requests in the prefill bootstrap queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Bootstrap) }},
	{"num_prefill_inflight_queue_reqs", "The number of requests in the prefill inflight queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Inflight) }},
	{"num_decode_prealloc_queue_reqs", "The number of requests in the decode prealloc queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Prealloc) }},
	{"num_decode_transfer_queue_reqs", "The number of requests in the decode transfer queue.", func(_ *Server, st *api.Stats) float64 { return float64(st.Transfer) }},
	{"num_decode_host_receive_queue_reqs", "Requests in the decode transfer queue receiving into host memory or waiting for device admission.", nil},
	{"num_decode_deferred_kv_release_reqs", "The number of failed decode requests whose KV allocations are held pending transfer drain acknowledgement or timeout.", nil},
	{"pending_prealloc_token_usage", "The token usage for pending preallocated tokens (not preallocated yet).", func(_ *Server, st *api.Stats) float64 { return st.ToAllocate }},
	{"prealloc_full_token_usage", "Share of the full-attention KV pool held by decode requests whose KV transfer is pending (preallocated, not yet running); same capacity basis as sglang:full_token_usage.", func(_ *Server, st *api.Stats) float64 { return st.Preallocated }},
	{"prealloc_swa_token_usage", "Share of the SWA KV pool held by decode requests whose KV transfer is pending; same capacity basis as sglang:swa_token_usage.", nil},
	{"utilization", "The utilization.", func(_ *Server, st *api.Stats) float64 { return st.Utilization }},
	// SGLang reports this gauge only with SGLANG_ENABLE_METRICS_DEVICE_TIMER.
	{"fwd_occupancy", "Forward pass GPU occupancy percentage.", func(*Server, *api.Stats) float64 { return math.NaN() }},
	{"new_token_ratio", "The new token ratio.", func(_ *Server, st *api.Stats) float64 { return st.NewTokenRatio }},
	{"is_cuda_graph", "Whether the batch is using CUDA graph.", func(_ *Server, st *api.Stats) float64 {
		if st.Graph {
			return 1
		}
		return 0
	}},
	{"max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", func(s *Server, _ *api.Stats) float64 { return float64(s.info.TokenCapacity) }},
	{"weight_memory_usage_gb", "Memory used by model weights in GB.", func(s *Server, _ *api.Stats) float64 { return gib(s.info.WeightBytes) }},
	{"kv_cache_memory_usage_gb", "Memory used by the KV cache pools in GB.", func(s *Server, _ *api.Stats) float64 { return gib(s.info.KVBytes) }},
	{"page_size", "KV cache page size in tokens.", func(s *Server, _ *api.Stats) float64 { return float64(s.info.PageSize) }},
	{"num_pages", "Number of KV cache pages.", func(s *Server, _ *api.Stats) float64 { return float64(s.info.TokenCapacity / max(1, s.info.PageSize)) }},
	{"context_len", "Maximum context length.", func(s *Server, _ *api.Stats) float64 { return float64(s.info.ContextLen) }},
}

// labelled lists the metric families with one sample for each value of a label. Counters that are 0 are omitted,
// because SGLang also shows no counter before the counter's first event.
var labelled = []struct {
	name, help, kind, label string
	values                  func(s *Server, st *api.Stats, add func(value string, v float64))
}{
	{"graph_memory_usage_gb", "Memory used by captured device graphs in GB.", "gauge", "phase", func(s *Server, _ *api.Stats, add func(string, float64)) {
		add("decode", gib(s.info.GraphBytes))
	}},
	{"cuda_graph_passes_total", "Total number of forward passes categorized by CUDA graph.", "counter", "mode", func(_ *Server, st *api.Stats, add func(string, float64)) {
		add("prefill_none", float64(st.PrefillSteps))
		add("decode_cuda_graph", float64(st.GraphSteps))
		add("decode_none", float64(st.DecodeSteps-st.GraphSteps))
	}},
	{"realtime_tokens_total", "Total number of tokens processed (updated on each log interval). mode: prefill_compute, prefill_cache, decode.", "counter", "mode", func(_ *Server, st *api.Stats, add func(string, float64)) {
		add("prefill_compute", float64(st.ComputedTokens))
		add("prefill_cache", float64(st.CachedTokens))
		add("decode", float64(st.GeneratedTokens))
	}},
	{"prefill_effective_tokens_total", "Effective prefill tokens with retracted-request re-counts excluded, updated on each log interval. mode: device_hit, host_hit, storage_hit, input. Windowed prefix cache hit rate = rate(sum of *_hit) / rate(sum of all modes); per-tier rate uses a single *_hit mode in the numerator.", "counter", "mode", func(_ *Server, st *api.Stats, add func(string, float64)) {
		add("device_hit", float64(st.CachedTokens))
		add("input", float64(st.PromptTokens-st.CachedTokens))
	}},
	{"scheduler_stage_seconds_total", "Total scheduler-loop wall time exclusively attributed to each stage. forward_overlap (full, partial, none): full=both endpoints active, partial=one, none=no observed overlap (including unavailable timing). Not exact overlapped/exposed seconds.", "counter", "category", func(_ *Server, st *api.Stats, add func(string, float64)) {
		for stage, took := range st.Loop {
			add(api.LoopStage(stage).String()+`",forward_overlap="none`, took.Seconds())
		}
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
	for i, st := range stats {
		rank[i] = s.rankLabels(st.DPRank)
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
		value      func(*api.Stats) float64
	}{
		{"scheduler_idle_seconds_total", "Total wall time while the scheduler has no runnable or queued work.", func(st *api.Stats) float64 { return st.Loop[api.Idle].Seconds() }},
		{"num_retracted_requests_total", "Total number of retracted requests.", func(st *api.Stats) float64 { return float64(st.RetractedRequests) }},
		{"num_retracted_input_tokens_total", "Total number of retracted input tokens.", func(st *api.Stats) float64 { return float64(st.RetractedInput) }},
		{"num_retracted_output_tokens_total", "Total number of retracted output tokens.", func(st *api.Stats) float64 { return float64(st.RetractedOutput) }},
		{"num_bootstrap_failed_reqs_total", "The number of bootstrap failed requests.", func(st *api.Stats) float64 { return float64(st.BootstrapFailed) }},
		{"num_transfer_failed_reqs_total", "The number of transfer failed requests.", func(st *api.Stats) float64 { return float64(st.TransferFailed) }},
	} {
		x.Header(c.name, c.help, "counter")
		for i := range stats {
			x.Sample(c.name, rank[i], c.value(&stats[i]))
		}
	}
	for _, g := range labelled {
		first := true
		for i := range stats {
			g.values(s, &stats[i], func(value string, v float64) {
				if v == 0 && g.kind == "counter" {
					return
				}
				if first {
					x.Header(g.name, g.help, g.kind)
					first = false
				}
				x.Sample(g.name, rank[i]+","+g.label+`="`+value+`"`, v)
			})
		}
	}
	s.startup(&x)
	s.metrics.write(&x, s.rankLabels)
	x.Reply(w)
}

// rankLabels returns the labels that SGLang's scheduler uses for a data-parallel rank.
func (s *Server) rankLabels(dp int) string {
	labels := s.metrics.labels + `,tp_rank="0",pp_rank="0",moe_ep_rank="0"`
	if s.info.DP > 1 {
		labels += fmt.Sprintf(`,dp_rank="%d"`, dp)
	}
	return labels
}

// write appends the metrics of requests.
func (m *metrics) write(x *prom.Text, rank func(int) string) {
	model := m.labels
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
	x.Header("spec_verify_calls_total", "Number of speculative decoding verification calls.", "counter")
	x.Sample("spec_verify_calls_total", model, 0)

	splitHist := func(name, help string, h *[2]*prom.Histogram) {
		if h[0].Empty() && h[1].Empty() {
			return
		}
		x.Header(name, help, "histogram")
		for i := range h {
			if h[i].Empty() {
				continue
			}
			h[i].Write(x, name, byStream[i])
		}
	}
	hist := func(name, help string, h *prom.Histogram) {
		if h.Empty() {
			return
		}
		x.Header(name, help, "histogram")
		h.Write(x, name, model)
	}
	splitHist("time_to_first_token_seconds", "Histogram of time to first token in seconds.", &m.ttfts)
	hist("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	splitHist("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", &m.e2e)
	splitHist("request_time_per_output_token_seconds", "Per-request TPOT in seconds: (finished_time - first_token_time) / (completion_tokens - 1).", &m.tpot)
	hist("prompt_tokens_histogram", "Histogram of prompt token length.", m.prompt)
	hist("uncached_prompt_tokens_histogram", "Histogram of uncached (compute) prompt token length.", m.uncached)
	hist("generation_tokens_histogram", "Histogram of generation token length.", m.output)
	ranked := func(name, help, label string, of []*prom.Histogram) {
		first := true
		for i, h := range of {
			if h.Empty() {
				continue
			}
			if first {
				x.Header(name, help, "histogram")
				first = false
			}
			h.Write(x, name, rank(i)+label)
		}
	}
	ranked("kv_transfer_speed_gb_s", "Histogram of KV cache transfer speed in GB/s.", "", []*prom.Histogram{m.transferGBs})
	ranked("kv_transfer_latency_ms", "Histogram of KV cache transfer latency in ms.", "", []*prom.Histogram{m.transferMS})
	ranked("kv_transfer_total_mb", "Histogram of KV cache transfer size in MB.", "", []*prom.Histogram{m.transferMB})
	ranked("queue_time_seconds", "Histogram of queueing time in seconds.", "", m.queue)
	ranked("per_stage_req_latency_seconds", "The latency of each stage of requests.", `,stage="prefill_forward"`, m.prefill)
	hist("get_loads_duration_seconds", "Time spent serving /v1/loads requests (seconds).", m.loads)
	m.calls.write(x)
}

// startup writes the startup times if they are known.
func (s *Server) startup(x *prom.Text) {
	const name = "startup_time_seconds"
	if s.o.Startup.All <= 0 {
		return
	}
	x.Header(name, "Engine startup duration by phase in seconds.", "gauge")
	x.Sample(name, s.metrics.labels+`,phase="scheduler_e2e"`, s.o.Startup.Engine.Seconds())
	x.Sample(name, s.metrics.labels+`,phase="tokenizer_e2e"`, s.o.Startup.All.Seconds())
}

package signals

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/api/client"
)

// family is the field of Rank to which the samples of a metric family in /metrics are added.
type family struct {
	of func(*Rank) *float64
	// If only is set, the family includes only samples with this label. If but is set, the family excludes samples with
	// this label.
	only, but [2]string
}

// families holds the metric families with values per rank, by name. It covers SGLang from 0.5.11 on, and vLLM.
var families = map[string][]family{
	"sglang:num_running_reqs":    {{of: func(r *Rank) *float64 { return &r.Running }}},
	"sglang:num_queue_reqs":      {{of: func(r *Rank) *float64 { return &r.Queued }}},
	"sglang:token_usage":         {{of: func(r *Rank) *float64 { return &r.Usage }}},
	"sglang:decode_sum_seq_lens": {{of: func(r *Rank) *float64 { return &r.Context }}},
	"sglang:gen_throughput":      {{of: func(r *Rank) *float64 { return &r.Rate }}},
	"sglang:realtime_tokens_total": {
		{of: func(r *Rank) *float64 { return &r.Generated }, only: [2]string{"mode", "decode"}},
		{of: func(r *Rank) *float64 { return &r.Computed }, only: [2]string{"mode", "prefill_compute"}},
	},
	"sglang:cuda_graph_passes_total":         {{of: func(r *Rank) *float64 { return &r.Passes }}},
	"sglang:scheduler_stage_seconds_total":   {{of: func(r *Rank) *float64 { return &r.Busy }, but: [2]string{"category", "idle"}}},
	"sglang:forward_execution_seconds_total": {{of: func(r *Rank) *float64 { return &r.Device }}},

	"vllm:num_requests_running":         {{of: func(r *Rank) *float64 { return &r.Running }}},
	"vllm:num_requests_waiting":         {{of: func(r *Rank) *float64 { return &r.Queued }}},
	"vllm:kv_cache_usage_perc":          {{of: func(r *Rank) *float64 { return &r.Usage }}}, // share, 0 to 1
	"vllm:gpu_cache_usage_perc":         {{of: func(r *Rank) *float64 { return &r.Usage }}}, // older name
	"vllm:generation_tokens_total":      {{of: func(r *Rank) *float64 { return &r.Generated }}},
	"vllm:prompt_tokens_total":          {{of: func(r *Rank) *float64 { return &r.Computed }}},
	"vllm:iteration_tokens_total_count": {{of: func(r *Rank) *float64 { return &r.Passes }}},
}

// histograms are the families of request latencies. Requests without streaming are excluded from TTFT, because such a
// request receives its first token together with its last token.
var histograms = map[string]func(*Sample) *Histogram{
	"time_to_first_token_seconds":   func(s *Sample) *Histogram { return &s.TTFT },
	"inter_token_latency_seconds":   func(s *Sample) *Histogram { return &s.ITL },
	"time_per_output_token_seconds": func(s *Sample) *Histogram { return &s.ITL }, // vLLM's older name
	"e2e_request_latency_seconds":   func(s *Sample) *Histogram { return &s.E2E },
}

// scheduler identifies the scheduler that reports a metric. All schedulers of a data-parallel rank may report, and all
// of them report the same values.
type scheduler struct{ dp, pp, tp int }

func (a scheduler) compare(b scheduler) int {
	return cmp.Or(a.dp-b.dp, a.pp-b.pp, a.tp-b.tp)
}

// Parse parses the text of /metrics; ok is false if it has no metrics of an LLM server.
func Parse(text string) (s *Sample, ok bool) {
	s = &Sample{Generated: Unknown, Aborted: Unknown}
	by := map[scheduler]*Rank{}
	for m := range client.Metrics(text) {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) { // the value carries no information
			continue
		}
		if of := families[m.Name]; of != nil {
			who := reporter(&m)
			r := by[who]
			if r == nil {
				made := fresh(who.dp)
				r = &made
				by[who] = r
			}
			for _, f := range of {
				if f.only[0] != "" && m.Label(f.only[0]) != f.only[1] || f.but[0] != "" && m.Label(f.but[0]) == f.but[1] {
					continue
				}
				add(f.of(r), m.Value)
			}
			ok = true
			continue
		}
		if s.take(&m) {
			ok = true
		}
	}
	var all []scheduler
	for who := range by {
		all = append(all, who)
	}
	slices.SortFunc(all, scheduler.compare)
	for _, who := range all {
		if n := len(s.Ranks); n == 0 || s.Ranks[n-1].DP != who.dp {
			s.Ranks = append(s.Ranks, *by[who])
		}
	}
	return s, ok
}

// reporter returns the scheduler that the labels of a metric name. It knows the labels of SGLang and of vLLM.
func reporter(m *client.Metric) scheduler {
	number := func(names ...string) int {
		for _, name := range names {
			if n, ok := digits(m.Label(name)); ok {
				return n
			}
		}
		return 0
	}
	return scheduler{number("dp_rank", "engine"), number("pp_rank"), number("tp_rank")}
}

// most is larger than any real number of ranks.
const most = 1 << 20

func digits(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > most {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}

func add(to *float64, v float64) {
	if Known(*to) {
		v += *to
	}
	*to = v
}

// take processes metrics of the server as a whole. It reports whether m is such a metric.
func (s *Sample) take(m *client.Metric) bool {
	engine, name, named := strings.Cut(m.Name, ":")
	if !named {
		if engine == "process_start_time_seconds" {
			s.Started = m.Value
		}
		return false
	}
	switch name {
	case "generation_tokens_total":
		add(&s.Generated, m.Value)
		return true
	case "num_aborted_requests_total":
		add(&s.Aborted, m.Value)
		return true
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		base, is := strings.CutSuffix(name, part)
		of := histograms[base]
		if !is || of == nil {
			continue
		}
		h := of(s)
		switch {
		case base == "time_to_first_token_seconds" && strings.EqualFold(m.Label("is_streaming"), "false"):
		case part == "_sum":
			h.Sum += m.Value
		case part == "_count":
			h.Count += m.Value
		default:
			h.observe(m.Label("le"), m.Value)
		}
		return true
	}
	return false
}

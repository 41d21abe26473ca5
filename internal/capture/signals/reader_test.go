package signals

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// show formats the data of a rank, in the order of its fields; "-": unknown.
func show(r *Rank) string {
	text := fmt.Sprintf("DP%d", r.DP)
	for _, v := range r.values() {
		if Known(*v) {
			text += fmt.Sprintf(" %g", *v)
		} else {
			text += " -"
		}
	}
	return text
}

// TestParse checks that ranks of several engines are told apart by their labels.
func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"SGLang 0.5.23 with two data-parallel ranks", `
			sglang:num_running_reqs{model_name="m",engine_type="unified",tp_rank="0",pp_rank="0",moe_ep_rank="0",dp_rank="0"} 3.0
			sglang:num_running_reqs{model_name="m",engine_type="unified",tp_rank="0",pp_rank="0",moe_ep_rank="0",dp_rank="1"} 5.0
			sglang:num_queue_reqs{tp_rank="0",pp_rank="0",dp_rank="1"} 2.0
			sglang:realtime_tokens_total{tp_rank="0",dp_rank="1",mode="decode"} 1200.0
			sglang:realtime_tokens_total{tp_rank="0",dp_rank="1",mode="prefill_compute"} 80.0
			sglang:realtime_tokens_total{tp_rank="0",dp_rank="1",mode="prefill_cache"} 9.0
			sglang:cuda_graph_passes_total{tp_rank="0",dp_rank="1",mode="prefill_none"} 4.0
			sglang:cuda_graph_passes_total{tp_rank="0",dp_rank="1",mode="decode_cuda_graph"} 300.0
			sglang:scheduler_stage_seconds_total{tp_rank="0",dp_rank="1",category="run_batch",forward_overlap="none"} 2.5
			sglang:scheduler_stage_seconds_total{tp_rank="0",dp_rank="1",category="idle",forward_overlap="none"} 100.0
			sglang:fwd_occupancy{tp_rank="0",dp_rank="1"} NaN`,
			"DP0 3 - - - - - - - - - -; DP1 5 2 - - - 1200 80 304 2.5 - -"},
		{"all schedulers of a rank report, by priority", `
			sglang:num_running_reqs{tp_rank="1",dp_rank="0",priority="1"} 3
			sglang:num_running_reqs{tp_rank="0",dp_rank="0",priority="1"} 3
			sglang:num_running_reqs{tp_rank="0",dp_rank="0",priority="2"} 4`,
			"DP0 7 - - - - - - - - - -"},
		{"no data-parallel ranks", `sglang:num_running_reqs{model_name="m",tp_rank="0"} 3`, "DP0 3 - - - - - - - - - -"},
		{"a misleading name", `sglang:num_running_reqs{model_name="a\",dp_rank=\"7",dp_rank="2"} 3`, "DP2 3 - - - - - - - - - -"},
		{"vLLM with two engines", `
			vllm:num_requests_running{engine="0",model_name="m"} 3.0
			vllm:num_requests_running{engine="1",model_name="m"} 8.0
			vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.25
			vllm:generation_tokens_total{engine="1",model_name="m"} 77.0
			vllm:iteration_tokens_total_count{engine="1",model_name="m"} 12.0`,
			"DP0 3 - - - - - - - - - -; DP1 8 - - 0.25 - 77 - 12 - - -"},
		{"vLLM: cached prompt tokens are not computed", `
			vllm:prompt_tokens_cached_total{engine="0",model_name="m"} 300.0
			vllm:prompt_tokens_total{engine="0",model_name="m"} 420.0`,
			"DP0 - - - - - - 120 - - - -"},
		{"not an LLM server: metrics", "go_goroutines 12\nprocess_cpu_seconds_total 3", "nothing"},
		{"empty", "", "nothing"},
	} {
		s, ok := Parse(strings.ReplaceAll(c.text, "\t", ""))
		var got []string
		for i := range s.Ranks {
			got = append(got, show(&s.Ranks[i]))
		}
		text := strings.Join(got, "; ")
		if !ok {
			text = "nothing"
		}
		if text != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
}

// TestHistogram checks sums of series, differences, and quantiles as in PromQL.
func TestHistogram(t *testing.T) {
	const text = `
sglang:time_to_first_token_seconds_bucket{is_streaming="True",le="0.1"} %d
sglang:time_to_first_token_seconds_bucket{is_streaming="True",le="0.2"} %d
sglang:time_to_first_token_seconds_bucket{is_streaming="True",le="+Inf"} %d
sglang:time_to_first_token_seconds_sum{is_streaming="True"} %d
sglang:time_to_first_token_seconds_count{is_streaming="True"} %d
sglang:time_to_first_token_seconds_bucket{is_streaming="False",le="0.1"} 1000
sglang:time_to_first_token_seconds_count{is_streaming="False"} 1000
sglang:e2e_request_latency_seconds_count{is_streaming="false"} %[1]d
sglang:inter_token_latency_seconds_count{} 5`
	a, _ := Parse(fmt.Sprintf(text, 10, 10, 10, 1, 10))
	b, _ := Parse(fmt.Sprintf(text, 14, 18, 20, 4, 20))
	a.At, b.At = time.Unix(100, 0), time.Unix(102, 0)
	h := &Between(a, b).TTFT
	for p, want := range map[float64]float64{0: 0, 0.2: 0.05, 0.4: 0.1, 0.6: 0.15, 0.9: 0.2, 1: 0.2} {
		if got := h.Quantile(p); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g-quantile %g, want %g", p, got, want)
		}
	}
	for _, c := range []struct{ counts, want []float64 }{
		{[]float64{0, 10, 10}, []float64{0.1, 0.2}},
		{[]float64{10, 10, 10}, []float64{0, 0.1}},
		{[]float64{5, 5, 10}, []float64{0.2, math.Inf(1)}},
	} {
		h := Histogram{Bounds: []float64{0.1, 0.2, math.Inf(1)}, Counts: c.counts, Count: 10}
		if from, to := h.Within(0.99); from != c.want[0] || to != c.want[1] {
			t.Errorf("counts %v: the 0.99-quantile is within %g and %g, want %v", c.counts, from, to, c.want)
		}
	}
	if h.Count != 10 || math.Abs(h.Mean()-0.3) > 1e-12 {
		t.Errorf("%+v", h)
	}
	if l := Between(a, b); l.E2E.Count != 4 || l.ITL.Count != 0 {
		t.Errorf("includes replies without streaming: %+v, %+v", l.E2E, l.ITL)
	}
	if both := h.Add(h); both.Count != 20 || both.Quantile(0.4) != 0.1 {
		t.Errorf("twice: %+v", both)
	}
	empty := Histogram{}
	if Known(empty.Mean()) || Known(empty.Quantile(0.5)) {
		t.Error("an empty histogram has a mean")
	}
}

// TestBetween checks rates, and which are unknown after a restart or if a clock goes back.
func TestBetween(t *testing.T) {
	sample := func(at int64, running, generated, passes, busy float64) *Sample {
		r := fresh(0)
		r.Running, r.Queued, r.Generated, r.Passes, r.Busy = running, 1, generated, passes, busy
		return &Sample{At: time.Unix(at, 0), Ranks: []Rank{r}, Generated: Unknown}
	}
	f := Between(sample(10, 4, 1000, 100, 1), sample(12, 8, 1400, 200, 2.5)).Ranks[0]
	if f.Load != 9 || f.Tokens != 200 || f.Pace != 0.03 || f.Step != 0.015 || f.Batch != 4 {
		t.Errorf("%+v", f)
	}
	for name, l := range map[string]*Live{
		"restart":             Between(sample(10, 4, 1000, 100, 1), sample(12, 8, 3, 2, 0)),
		"the clock goes back": Between(sample(10, 4, 1000, 100, 1), sample(9, 8, 1400, 200, 2)),
	} {
		if f := l.Ranks[0]; l.Restarted != (name == "restart") || Known(f.Tokens) || Known(f.Pace) || f.Running != 8 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	idle := sample(12, 0, 0, 0, 0)
	idle.Ranks[0].Generated, idle.Ranks[0].Rate = Unknown, 500
	if f := Between(idle, idle).Ranks[0]; f.Tokens != 0 {
		t.Errorf("an idle rank generates %g tokens/s, the rate of its last batch", f.Tokens)
	}
}

// TestReader checks the data of servers that export different subsets, and the error for servers that export nothing.
func TestReader(t *testing.T) {
	const metrics = `sglang:num_running_reqs{dp_rank="0"} 3`
	for _, c := range []struct {
		name, metrics, loads, old string // replies; a number is a status
		want, lacks               string
	}{
		{"all", metrics, `{"loads":[{"dp_rank":0,"num_running_reqs":7,"num_waiting_reqs":2,"token_usage":0.5}]}`, "404", "DP0 7 2 - 0.5 - - - - - -", "no host time"},
		{"no loads", metrics, "500", "404", "DP0 3 - - - - - - - - -", "no host time"},
		{"only the older loads", "404", "404", `[{"dp_rank":1,"num_reqs":9,"num_waiting_reqs":2}]`, "DP1 7 2 - - - - - - - -", "start the server with --enable-metrics"},
		{"nothing", "404", "404", "404", "provides neither /metrics nor its loads: start SGLang (or stepscope serve) with --enable-metrics", ""},
		{"a key is required", "401", "401", "401", "401 Unauthorized: no (give --api-key)", ""},
		{"not an LLM server", "<html>", "<html>", "<html>", "this is nginx, not an LLM server", ""},
	} {
		hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reply := map[string]string{"/metrics": c.metrics, "/v1/loads": c.loads, "/get_load": c.old}[r.URL.Path]
			status := 200
			if _, err := fmt.Sscan(reply, &status); err == nil {
				reply = `{"error":{"message":"no"}}`
			}
			w.Header().Set("Server", "nginx")
			w.WriteHeader(status)
			io.WriteString(w, reply)
		}))
		reader := NewReader(hs.URL, nil, nil)
		for range 2 { // changes nothing that is already known
			s, err := reader.Read(t.Context())
			got, lacks := "", ""
			if err != nil {
				got = err.Error()
			} else {
				got, lacks = show(&s.Ranks[0]), strings.Join(reader.Lacks(s), "; ")
			}
			if !strings.Contains(got, c.want) || !strings.Contains(lacks, c.lacks) {
				t.Errorf("%s: %s, lacks %q\nwant %s, %s", c.name, got, lacks, c.want, c.lacks)
			}
		}
		hs.Close()
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if _, err := NewReader(gone.URL, nil, nil).Read(t.Context()); err == nil || Answered(err) {
		t.Errorf("a server that has ended: %v", err)
	}
}

// FuzzParse checks that no text causes a failure, and that a sample can be subtracted from itself.
func FuzzParse(f *testing.F) {
	f.Add(`sglang:num_running_reqs{dp_rank="0",x="\"} 3` + "\n" + `sglang:inter_token_latency_seconds_bucket{le="NaN"} 1`)
	f.Add("vllm:time_to_first_token_seconds_bucket{le=\"0.5\"} 3\nvllm:time_to_first_token_seconds_count 4")
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := Parse(text)
		l := Between(s, s)
		for i := 1; i < len(l.Ranks); i++ {
			if l.Ranks[i-1].DP >= l.Ranks[i].DP {
				t.Errorf("ranks are not in order: %d, %d", l.Ranks[i-1].DP, l.Ranks[i].DP)
			}
		}
		s.ITL.Quantile(0.5)
	})
}

// TestNoFigures checks that NaN and Inf, which Prometheus allows, count as missing values.
func TestNoFigures(t *testing.T) {
	s, ok := Parse("sglang:num_running_reqs{dp_rank=\"0\"} +Inf\nsglang:num_running_reqs{dp_rank=\"1\"} 3\nsglang:num_queue_reqs{dp_rank=\"1\"} NaN\n")
	if !ok || len(s.Ranks) != 1 || s.Ranks[0].DP != 1 || s.Ranks[0].Running != 3 || Known(s.Ranks[0].Queued) {
		t.Errorf("%v: %+v", ok, s)
	}
}

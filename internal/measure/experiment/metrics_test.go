package experiment

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/runs"
)

// valuesOf returns the values that are stored for a reply of /metrics.
func valuesOf(text string) map[string]float64 {
	s, _ := signals.Parse(text)
	return s.Values
}

func TestSampledMetrics(t *testing.T) {
	got := valuesOf(`# HELP sglang:num_running_reqs n
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="a b",dp_rank="0"} 3.0
sglang:num_running_reqs{model_name="a b",dp_rank="1"} 5 1700000000
sglang:time_to_first_token_seconds_bucket{le="0.1"} 7
vllm:num_requests_waiting 2e0
sglang:token_usage{broken 1
sglang:gen_throughput nothing
`)
	want := map[string]float64{
		`sglang:num_running_reqs{model_name="a b",dp_rank="0"}`: 3, `sglang:num_running_reqs{model_name="a b",dp_rank="1"}`: 5,
		"vllm:num_requests_waiting": 2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	line := Standing([]runs.Sample{{Values: got}, {Values: map[string]float64{"vllm:num_requests_waiting": 0, "sglang:token_usage{}": 0.25}}})
	if want := "4.0 requests running on average, at most 8; 1.0 queued, at most 2; KV cache at most 25 % full (2 samples of /metrics)"; line != want {
		t.Errorf("got %q", line)
	}
}

// TestPrefixCache: the growth of a server's counters gives the use of its prefix cache.
func TestPrefixCache(t *testing.T) {
	sample := func(text string) runs.Sample { return runs.Sample{Values: valuesOf(text)} }
	const before = "vllm:prefix_cache_queries_total{engine=\"0\"} 1000\nvllm:prefix_cache_hits_total{engine=\"0\"} 640\n"
	after := sample("vllm:prefix_cache_queries_total{engine=\"0\"} 1416\nvllm:prefix_cache_hits_total{engine=\"0\"} 1030\n")
	if c := prefixCache([]runs.Sample{sample(before), sample(before), after}); c == nil || c.Prompt != 416 || c.Cached != 390 || c.HitRate != 390.0/416 {
		t.Errorf("%+v", c)
	}
	for name, samples := range map[string][]runs.Sample{
		"no samples": nil, "one sample": {after}, "no growth": {after, after}, "restarted": {after, sample(before)},
		"SGLang": {sample("sglang:num_queue_reqs 1\n"), sample("sglang:num_queue_reqs 2\n")},
	} {
		if c := prefixCache(samples); c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestSpeculative: the growth of vLLM's counters gives the figures of speculative decoding, with names of counters from
// vLLM itself and from Prometheus.
func TestSpeculative(t *testing.T) {
	sample := func(total string, drafts, drafted, accepted int, positions ...int) runs.Sample {
		text := ""
		for name, v := range map[string]int{"num_drafts": drafts, "num_draft_tokens": drafted, "num_accepted_tokens": accepted} {
			text += fmt.Sprintf("vllm:spec_decode_%s%s{engine=\"0\",model_name=\"m\"} %d.0\n", name, total, v)
		}
		for i, v := range positions {
			text += fmt.Sprintf("vllm:spec_decode_num_accepted_tokens_per_pos%s{engine=\"0\",model_name=\"m\",position=\"%d\"} %d.0\n", total, i, v)
		}
		return runs.Sample{Values: valuesOf(text + "vllm:spec_decode_num_drafts_created{engine=\"0\"} 1.7e9\n")}
	}
	for _, total := range []string{"", "_total"} {
		got := speculative([]runs.Sample{sample(total, 100, 300, 120, 80, 30, 10), sample(total, 300, 900, 420, 230, 130, 60)})
		want := &bench.Speculative{Drafts: 200, Drafted: 600, Accepted: 300, Length: 2.5, Rate: 0.5, Positions: []float64{0.75, 0.5, 0.25}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", total, got, want)
		}
	}
	begun, ended := sample("_total", 100, 300, 120), sample("_total", 300, 900, 420)
	if got := speculative([]runs.Sample{begun, ended}); got == nil || len(got.Positions) != 0 || got.Length != 2.5 {
		t.Errorf("no positions: got %+v", got)
	}
	for name, samples := range map[string][]runs.Sample{
		"no samples": nil, "one sample": {ended}, "no growth": {ended, ended}, "restarted": {ended, begun},
		"a server without": {{Values: valuesOf("vllm:num_requests_running 1\n")}, {Values: valuesOf("vllm:num_requests_running 2\n")}},
	} {
		if got := speculative(samples); got != nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestStanding checks the displayed state of a server, from its metrics or else from its loads in either format.
// Without a display only metrics are requested.
func TestStanding(t *testing.T) {
	for _, c := range []struct {
		what    string
		replies map[string]string
		want    *signals.State // nil: unknown
	}{
		{"SGLang with metrics", map[string]string{"/metrics": "sglang:num_running_reqs{dp_rank=\"0\"} 3\nsglang:num_running_reqs{dp_rank=\"1\"} 4\nsglang:num_queue_reqs 5\nsglang:token_usage 0.25\n"},
			&signals.State{Running: 7, Queued: 5, KV: 0.25}},
		{"vLLM", map[string]string{"/metrics": "vllm:num_requests_running 3\nvllm:num_requests_waiting 2\n"},
			&signals.State{Running: 3, Queued: 2, KV: -1}},
		{"SGLang without", map[string]string{"/v1/loads": `{"loads":[{"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":1,"num_total_reqs":4,"token_usage":0.5},{"dp_rank":1,"num_running_reqs":2,"num_waiting_reqs":0,"token_usage":0.25}]}`},
			&signals.State{Running: 5, Queued: 1, KV: 0.5}},
		{"an older SGLang without", map[string]string{"/get_load": `[{"dp_rank":0,"num_reqs":5,"num_waiting_reqs":2}]`},
			&signals.State{Running: 3, Queued: 2, KV: -1}},
		{"metrics of something else", map[string]string{"/metrics": "up 1\n", "/get_load": `{"loads":"many"}`}, nil},
		{"nothing", nil, nil},
	} {
		for _, asks := range []bool{true, false} {
			var mu sync.Mutex
			asked := []string{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.URL.Path)
				mu.Unlock()
				if text, ok := c.replies[r.URL.Path]; ok {
					io.WriteString(w, text)
				} else {
					http.NotFound(w, r)
				}
			}))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			s := scrape(ctx, &client.Server{URL: server.URL}, asks)
			var got signals.State
			known, expected := false, c.want != nil && (asks || c.replies["/metrics"] != "")
			for expected && !known && ctx.Err() == nil {
				runtime.Gosched()
				got, known = s.now()
			}
			if !expected && asks { // then it has requested everything available
				<-s.done
				s.done <- nil
			}
			s.end(t.Context())
			cancel()
			server.Close()
			_, known = s.now()
			if known != expected || expected && got != *c.want {
				t.Errorf("%s: got %+v, %v; want %+v", c.what, got, known, c.want)
			}
			if !asks && slices.ContainsFunc(asked, func(path string) bool { return path != "/metrics" }) {
				t.Errorf("%s: without a display it was asked for %v", c.what, asked)
			}
		}
	}
}

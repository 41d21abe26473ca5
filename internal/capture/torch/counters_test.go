package torch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// looksOf returns samples of a server whose steps of 16 requests take 2.5 ms, with a prefill of 30 ms at regular
// intervals.
func looksOf(n, prefillEvery int) (looks []counterState) {
	c := counterState{at: time.Unix(100, 0)}
	for i := range n {
		c.at = c.at.Add(100 * time.Millisecond)
		c.sum += 16 * 0.1
		c.count += 16 * 40
		if prefillEvery > 0 && i%prefillEvery == prefillEvery-1 {
			c.count -= 16 * 12 // the steps that it replaced
			c.firsts++
		}
		looks = append(looks, c)
	}
	return looks
}

// TestCounters checks that the counters of a steady load give the length and batch size of its steps. Stretches with
// prefill are left out if others have none, and noted if all have it.
func TestCounters(t *testing.T) {
	for _, c := range []struct {
		name         string
		n, prefill   int
		median, most int64 // ns
		upper        bool
	}{
		{"steady", 10, 0, 2_500_000, 2_500_000, false},
		{"some prefill", 14, 4, 2_500_000, 2_500_000, false},
		{"always prefill", 10, 1, 3_571_000, 3_572_000, true},
		{"too short", 2, 0, 0, 0, false},
	} {
		m := &member{o: &Options{}, stretches: stretches(looksOf(c.n, c.prefill))}
		ref := m.reference()
		if c.median == 0 {
			if ref != nil {
				t.Errorf("%s: %+v", c.name, ref)
			}
			continue
		}
		if ref == nil {
			t.Errorf("%s: nothing", c.name)
			continue
		}
		if p := ref.Paces[0]; p.Median < c.median || p.Median > c.most || p.Batch != 16 || ref.Batch != 16 || ref.Upper != c.upper || p.Low > p.Median || p.High < p.Median {
			t.Errorf("%s: %+v, want %d", c.name, ref, c.median)
		}
	}
}

// TestCountersNames checks the names of the counters, and that servers that produce several tokens per step are not
// sampled.
func TestCountersNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kind       Kind
		ok         bool
	}{
		{"SGLang", "sglang:inter_token_latency_seconds_sum{a=\"b\"} 4\nsglang:inter_token_latency_seconds_count{a=\"b\"} 1600\nsglang:spec_accept_length{a=\"b\"} 0.0\n", servers.SGLang, true},
		{"SGLang with speculation", "sglang:inter_token_latency_seconds_sum 4\nsglang:inter_token_latency_seconds_count 1600\nsglang:spec_accept_length 2.7\n", servers.SGLang, false},
		{"SGLang's time per token of a request", "sglang:time_per_output_token_seconds_sum 4\nsglang:time_per_output_token_seconds_count 1600\n", servers.SGLang, false},
		{"vLLM", "vllm:inter_token_latency_seconds_sum 4\nvllm:inter_token_latency_seconds_count 1600\n", servers.VLLM, true},
		{"older vLLM", "vllm:time_per_output_token_seconds_sum 4\nvllm:time_per_output_token_seconds_count 1600\n", servers.VLLM, true},
		{"vLLM with speculation", "vllm:inter_token_latency_seconds_sum 4\nvllm:inter_token_latency_seconds_count 1600\nvllm:spec_decode_num_drafts_total 9\n", servers.VLLM, false},
		{"none", "up 1\n", servers.SGLang, false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, c.text) }))
		m := &member{Target: Target{URL: s.URL}, kind: c.kind, o: &Options{Client: s.Client()}}
		got, ok := m.counters(t.Context())
		if ok != c.ok || ok && (got.sum != 4 || got.count != 1600) {
			t.Errorf("%s: %+v, %v", c.name, got, ok)
		}
		s.Close()
	}
}

// TestWatchPace samples a server until the data suffices.
func TestWatchPace(t *testing.T) {
	looks, n := looksOf(100, 0), 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/metrics") {
			http.NotFound(w, r)
			return
		}
		c := &looks[n]
		n++
		fmt.Fprintf(w, "sglang:inter_token_latency_seconds_sum %g\nsglang:inter_token_latency_seconds_count %g\nsglang:time_to_first_token_seconds_count %g\n", c.sum, c.count, c.firsts)
	}))
	defer s.Close()
	m := &member{Target: Target{URL: s.URL}, kind: servers.SGLang, o: &Options{Client: s.Client(), Pace: 10 * time.Second}}
	m.watchPace(t.Context())
	if n < counterMany || n > 20 {
		t.Errorf("%d looks", n)
	}
	ref := m.reference()
	if ref == nil || ref.Paces[0].N < leastPaces {
		t.Errorf("%+v", ref)
	}
}

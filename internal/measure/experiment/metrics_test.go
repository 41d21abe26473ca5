package experiment

import (
	"maps"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	got := parseMetrics(`# HELP sglang:num_running_reqs n
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
	line := Standing([]Sample{{Values: got}, {Values: map[string]float64{"vllm:num_requests_waiting": 0, "sglang:token_usage{}": 0.25}}})
	if want := "4.0 requests running on average, 8 at most; 1.0 queued, 2 at most; KV cache 25 % full at most (2 samples of /metrics)"; line != want {
		t.Errorf("got %q", line)
	}
}

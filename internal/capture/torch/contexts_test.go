package torch

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/trace"
)

// TestContexts derives contexts from lines of /metrics as SGLang 0.5.17 and vLLM write them, and from a reply of a load
// route.
func TestContexts(t *testing.T) {
	const blocks = `vllm:cache_config_info{block_size="16",cache_dtype="fp8",enable_prefix_caching="True",engine="0",num_cpu_blocks="None",num_gpu_blocks="1001",sliding_window="None"} 1.0
vllm:num_requests_running{engine="0",model_name="m"} 8.0
`
	for _, c := range []struct {
		name, text string
		stale      int
		want       trace.ContextSample
	}{
		{"SGLang", `sglang:num_running_reqs{engine_type="unified",model_name="dense",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 30.0
sglang:decode_sum_seq_lens{engine_type="unified",model_name="dense",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 11188.0
sglang:num_used_tokens{engine_type="unified",model_name="dense",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 12237.0
`, 40, trace.ContextSample{From: trace.ContextsGauge, Running: 30, Low: 11188, High: 11188 + 30*40}},
		{"a release without the sum", "sglang:num_running_reqs{dp_rank=\"1\"} 30.0\nsglang:num_used_tokens{dp_rank=\"1\"} 12237.0\n", 40,
			trace.ContextSample{From: trace.ContextsUsed, DP: 1, Running: 30, Low: 30, High: 12237}},
		{"a batch that the sum does not count yet", "sglang:num_running_reqs 30.0\nsglang:decode_sum_seq_lens 0.0\n", 40, trace.ContextSample{}},
		{"vLLM", blocks + `vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25` + "\n", 0,
			trace.ContextSample{From: trace.ContextsBlocks, Running: 8, Low: 4000 - 8*16, High: 4000}},
		{"vLLM, short contexts", blocks + `vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.008` + "\n", 0,
			trace.ContextSample{From: trace.ContextsBlocks, Running: 8, Low: 8, High: 128}},
		{"vLLM without the size of the cache", "vllm:num_requests_running 8.0\nvllm:kv_cache_usage_perc 0.25\n", 0, trace.ContextSample{}},
		{"an idle server", "sglang:num_running_reqs 0.0\nsglang:num_used_tokens 5000.0\n", 0, trace.ContextSample{}},
	} {
		s, ok := signals.Parse(c.text)
		if !ok {
			t.Fatalf("%s: no metrics", c.name)
		}
		s.At = time.Unix(7, 0)
		if c.want.From != "" {
			c.want.At = 7e9
		}
		var got trace.ContextSample
		if list := contextsOf(s, c.stale); len(list) > 0 {
			got = list[0]
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	m := &member{}
	m.used((&client.Reply{Status: http.StatusOK, Body: []byte(`{"loads":[{"dp_rank":0,"num_running_reqs":0,"num_used_tokens":90},{"dp_rank":1,"num_running_reqs":3,"num_used_tokens":700}]}`)}).Loads())
	m.used((&client.Reply{Status: http.StatusOK, Body: []byte(`[{"dp_rank":0,"num_reqs":3,"num_tokens":700}]`)}).Loads())
	for i := range m.contexts.Samples {
		m.contexts.Samples[i].At = 0
	}
	if want := []trace.ContextSample{{From: trace.ContextsUsed, DP: 1, Running: 3, Low: 3, High: 700}}; !reflect.DeepEqual(m.contexts.Samples, want) {
		t.Errorf("%+v, want %+v", m.contexts.Samples, want)
	}
	m = &member{kind: servers.SGLang, raw: []byte(`{"decode_log_interval":8}`)}
	if n := m.stale(); n != 8 {
		t.Errorf("stale for %d steps", n)
	}
	m.kind = servers.Stepscope
	if n := m.stale(); n != 0 {
		t.Errorf("a server with current gauges: stale for %d steps", n)
	}
}

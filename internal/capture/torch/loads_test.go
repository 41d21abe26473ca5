package torch

import (
	"testing"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/trace"
)

// TestLoads parses replies of /v1/loads: of SGLang 0.5 (shortened), of two ranks, and invalid ones.
func TestLoads(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       trace.Load
		ok         bool
	}{
		{"prefill", `{"timestamp":"2026-01-01T00:00:00Z","version":"0.5.9","dp_rank_count":1,"loads":[{"dp_rank":0,"num_running_reqs":1,"num_waiting_reqs":7,"token_usage":0.25,"max_running_requests":64,
			"disaggregation":{"mode":"prefill","prefill_prealloc_queue_reqs":3,"prefill_inflight_queue_reqs":2,"decode_prealloc_queue_reqs":0,"decode_transfer_queue_reqs":0,"decode_retracted_queue_reqs":0,"kv_transfer_speed_gb_s":0.1}}]}`,
			trace.Load{Running: 1, MostRunning: 64, Waiting: 7, Bootstrap: 3, Inflight: 2, KVUsage: 0.25}, true},
		{"decode, two ranks", `{"loads":[{"num_running_reqs":1,"token_usage":0.5,"disaggregation":{"decode_prealloc_queue_reqs":4,"decode_transfer_queue_reqs":5,"decode_retracted_queue_reqs":6}},
			{"num_running_reqs":2,"token_usage":0.75,"disaggregation":{"decode_prealloc_queue_reqs":1}}]}`,
			trace.Load{Running: 3, Prealloc: 5, Transfer: 5, Retracted: 6, KVUsage: 0.75}, true},
		{"by the server's clock", `{"loads":[{"timestamp":1795333805.25,"disaggregation":{}},{"timestamp":1795333806,"disaggregation":{}}]}`, trace.Load{At: 1795333805_250_000_000}, true},
		{"an invalid time", `{"loads":[{"timestamp":"2026-01-01T00:00:00Z","num_waiting_reqs":2,"disaggregation":{}}]}`, trace.Load{Waiting: 2}, true},
		{"from another server", `{"loads":[{"num_running_reqs":1}]}`, trace.Load{Running: 1}, false},
		{"no ranks", `{"loads":[]}`, trace.Load{}, false},
		{"something else", `[1]`, trace.Load{}, false},
	} {
		if got, ok := queuesOf((&client.Reply{Status: 200, Body: []byte(c.body)}).Loads()); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v %v, want %+v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

package client

import (
	"encoding/json"
	"net/http"
)

// LoadRoutes are the routes that report a server's requests: first SGLang's current route, then the older one.
var LoadRoutes = []string{"/v1/loads", "/get_load"}

// Load is the load of one data-parallel replica as reported by LoadRoutes. Fields that are not reported are nil.
type Load struct {
	DP       *int     `json:"dp_rank"`
	Requests *float64 `json:"num_reqs"` // older route only: number of running and waiting requests
	Total    *float64 `json:"num_total_reqs"`
	Running  *float64 `json:"num_running_reqs"`
	Waiting  *float64 `json:"num_waiting_reqs"`
	Usage    *float64 `json:"token_usage"`       // used fraction of the KV cache
	Context  *float64 `json:"num_active_tokens"` // tokens of the running sequences
	Used     *float64 `json:"num_used_tokens"`   // tokens in the KV cache
	Rate     *float64 `json:"gen_throughput"`    // generated tokens/s

	At          json.RawMessage `json:"timestamp"` // s since the epoch, on the server's clock
	MostRunning float64         `json:"max_running_requests"`
	Disagg      *Queues         `json:"disaggregation"`
}

// Queues are the queues of a server with disaggregated prefill and decode: numbers of requests.
type Queues struct {
	Bootstrap       int `json:"prefill_bootstrap_queue_reqs"`
	PrefillPrealloc int `json:"prefill_prealloc_queue_reqs"` // older name of the previous field
	Inflight        int `json:"prefill_inflight_queue_reqs"`
	Prealloc        int `json:"decode_prealloc_queue_reqs"`
	Transfer        int `json:"decode_transfer_queue_reqs"`
	Retracted       int `json:"decode_retracted_queue_reqs"`
}

// Loads parses a reply to one of LoadRoutes: a list of loads, or an object that contains such a list. It returns nil
// for any other reply.
func (r *Reply) Loads() []Load {
	var all struct{ Loads []Load }
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &all) != nil && json.Unmarshal(r.Body, &all.Loads) != nil {
		return nil
	}
	return all.Loads
}

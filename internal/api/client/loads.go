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
	Rate     *float64 `json:"gen_throughput"`    // generated tokens/s
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

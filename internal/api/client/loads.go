package client

import (
	"encoding/json"
	"net/http"
)

// LoadRoutes tell of a server's requests: SGLang's present one, and the older.
var LoadRoutes = []string{"/v1/loads", "/get_load"}

// Load is what a data-parallel replica says of its requests there. What it does not say is
// nil.
type Load struct {
	DP       *int     `json:"dp_rank"`
	Requests *float64 `json:"num_reqs"` // in the older one: running and waiting
	Total    *float64 `json:"num_total_reqs"`
	Running  *float64 `json:"num_running_reqs"`
	Waiting  *float64 `json:"num_waiting_reqs"`
	Usage    *float64 `json:"token_usage"`       // share of the KV cache
	Context  *float64 `json:"num_active_tokens"` // of the running sequences
	Rate     *float64 `json:"gen_throughput"`    // tokens generated a second
}

// Loads are those of a reply: an object with loads, or a list. None: it is another thing.
func (r *Reply) Loads() []Load {
	var all struct{ Loads []Load }
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &all) != nil && json.Unmarshal(r.Body, &all.Loads) != nil {
		return nil
	}
	return all.Loads
}

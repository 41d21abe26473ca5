package trace

// Load is what a prefill or a decode server says of its queues at one moment
// (SGLang's GET /v1/loads), summed over its ranks. All but KVUsage are requests.
type Load struct {
	At          int64   `json:"at_ns"` // since the epoch
	Running     int     `json:"running"`
	MostRunning int     `json:"most_running"` // as many as it would run; 0: not said
	Waiting     int     `json:"waiting"`      // for a batch
	Bootstrap   int     `json:"bootstrap"`    // prefill: until a decode server has a place for them
	Inflight    int     `json:"inflight"`     // prefill: computed, being sent
	Prealloc    int     `json:"prealloc"`     // decode: for a place: memory, and one of MostRunning
	Transfer    int     `json:"transfer"`     // decode: for keys and values
	Retracted   int     `json:"retracted"`    // decode: set aside, for memory
	KVUsage     float64 `json:"kv_usage"`     // share of the KV cache, of the fullest rank
}

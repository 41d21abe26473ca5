package trace

// Load is the state of a prefill or decode server's queues at one moment (SGLang's GET /v1/loads), summed over its
// ranks. All fields but At and KVUsage count requests.
type Load struct {
	At          int64   `json:"at_ns"` // ns since the epoch
	Running     int     `json:"running"`
	MostRunning int     `json:"most_running"` // limit on running requests; 0: unknown
	Waiting     int     `json:"waiting"`      // waiting to join a batch
	Bootstrap   int     `json:"bootstrap"`    // prefill: waiting for the decode server to allocate memory
	Inflight    int     `json:"inflight"`     // prefill: computed, transfer in progress
	Prealloc    int     `json:"prealloc"`     // decode: waiting for memory and one of MostRunning slots
	Transfer    int     `json:"transfer"`     // decode: waiting for the KV transfer
	Retracted   int     `json:"retracted"`    // decode: retracted for lack of memory
	KVUsage     float64 `json:"kv_usage"`     // share of the KV cache in use on the rank with the highest usage
}

// LoadsFile is the name of a file with a list of Load, stored beside the traces of a window.
const LoadsFile = "loads.json"

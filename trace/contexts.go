package trace

// Contexts tells how many tokens the requests of a server had around a window. The bytes that attention reads follow
// from it.
type Contexts struct {
	Pool    int64           `json:"pool_tokens"`    // tokens that fit in the KV cache of a data-parallel rank; 0: unknown
	Longest int64           `json:"longest"`        // most tokens of a request that the server accepts; 0: unknown
	Cache   string          `json:"kv_cache_dtype"` // as the server reports it, such as "auto" (that of the model); "": unknown
	Samples []ContextSample `json:"samples"`        // in the order of time
}

// ContextSample is the sum of the contexts of the running requests at one moment. A context is the prompt and the
// tokens generated so far.
type ContextSample struct {
	At      int64  `json:"at_ns"`   // ns since the epoch, on the clock of the host that sampled
	From    string `json:"from"`    // one of the constants below
	DP      int    `json:"dp"`      // data-parallel rank; -1: all ranks
	Running int    `json:"running"` // requests
	Low     int64  `json:"low"`     // bounds of the sum, tokens
	High    int64  `json:"high"`
	Least   int64  `json:"least"` // tokens of the shortest and of the longest context; 0: unknown
	Most    int64  `json:"most"`
}

// Sources of context samples.
const (
	ContextsGauge  = "gauge"  // the server's count of the tokens of its running sequences
	ContextsUsed   = "used"   // the tokens in its KV cache, an upper bound
	ContextsBlocks = "blocks" // the blocks in use of its KV cache
	ContextsLoad   = "load"   // prompts and received tokens of a load
)

// ContextsFile is the name of a file with Contexts, stored beside the traces of a window.
const ContextsFile = "contexts.json"

package wire

// Load is the load of one data-parallel rank as reported by /v1/loads. Sections that do not apply to the server are
// absent.
type Load struct {
	Timestamp            float64     `json:"timestamp"` // s since 1970
	DPRank               int         `json:"dp_rank"`
	NumRunningReqs       int         `json:"num_running_reqs"`
	NumWaitingReqs       int         `json:"num_waiting_reqs"`
	NumWaitingTokens     int         `json:"num_waiting_uncached_tokens"`
	NumUsedTokens        int         `json:"num_used_tokens"`
	NumTotalTokens       int         `json:"num_total_tokens"`          // used and waiting tokens
	NumActiveTokens      int         `json:"num_active_tokens"`         // tokens of running sequences
	NumPreallocReady     int         `json:"num_prealloc_ready_tokens"` // tokens whose KV has reached a decode server
	MaxTotalNumTokens    int         `json:"max_total_num_tokens"`
	MaxRunningRequests   int         `json:"max_running_requests"`
	TokenUsage           float64     `json:"token_usage"`    // fraction of max_total_num_tokens
	GenThroughput        float64     `json:"gen_throughput"` // tokens/s
	CacheHitRate         float64     `json:"cache_hit_rate"` // fraction
	Utilization          float64     `json:"utilization"`    // fraction
	PrefillUncachedTotal int64       `json:"total_prefill_uncached_tokens"`
	PrefillBusyMicros    int64       `json:"total_prefill_busy_us"`
	Memory               *MemoryLoad `json:"memory,omitempty"`
	Disagg               *DisaggLoad `json:"disaggregation,omitempty"`
	Queues               *QueuesLoad `json:"queues,omitempty"`
}

// MemoryLoad is the memory section. Sizes are in GB (1<<30 bytes), capacities in tokens.
type MemoryLoad struct {
	WeightGB      float64 `json:"weight_gb"`
	KVCacheGB     float64 `json:"kv_cache_gb"`
	GraphGB       float64 `json:"graph_gb"`
	TokenCapacity int     `json:"token_capacity"`
}

// DisaggLoad is the disagg section.
type DisaggLoad struct {
	Mode      string  `json:"mode"` // null: no disaggregation
	Bootstrap int     `json:"prefill_bootstrap_queue_reqs"`
	Inflight  int     `json:"prefill_inflight_queue_reqs"`
	Prealloc  int     `json:"decode_prealloc_queue_reqs"`
	Transfer  int     `json:"decode_transfer_queue_reqs"`
	Retracted int     `json:"decode_retracted_queue_reqs"`
	SpeedGBs  float64 `json:"kv_transfer_speed_gb_s"` // speed of the last transfer, GB/s (1e9 bytes)
	LatencyMS float64 `json:"kv_transfer_latency_ms"`
}

// QueuesLoad is the queues section.
type QueuesLoad struct {
	Waiting       int `json:"waiting"`
	Grammar       int `json:"grammar"`
	Paused        int `json:"paused"`
	Retracted     int `json:"retracted"`
	PreallocReady int `json:"prealloc_ready"`
}

// Loads is the reply of /v1/loads.
type Loads struct {
	Timestamp       string `json:"timestamp"` // RFC 3339, UTC
	Version         string `json:"version"`
	Accelerator     string `json:"accelerator"`
	NumAccelerators int    `json:"num_accelerators"` // GPUs of one data-parallel rank
	Loads           []Load `json:"loads"`
}

// OldLoad is one entry in the reply of the deprecated route /get_load.
type OldLoad struct {
	DPRank           int     `json:"dp_rank"`
	NumReqs          int     `json:"num_reqs"` // running and waiting requests
	NumWaitingReqs   int     `json:"num_waiting_reqs"`
	NumTokens        int     `json:"num_tokens"`
	NumPendingTokens int     `json:"num_pending_tokens"`
	Time             float64 `json:"ts_tic"` // s, monotonic
}

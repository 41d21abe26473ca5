package servers

// Figure is a figure of a server's live state.
type Figure string

// Figures of a data-parallel rank. Totals count from the server's start.
const (
	Running   Figure = "running"   // requests in batches
	Queued    Figure = "queued"    // waiting requests
	Context   Figure = "context"   // tokens of the running sequences
	Usage     Figure = "usage"     // share of the KV cache in use, 0 to 1
	Used      Figure = "used"      // tokens in the KV cache
	Rate      Figure = "rate"      // generated tokens/s, as computed by the server
	Generated Figure = "generated" // total tokens generated
	Computed  Figure = "computed"  // total prompt tokens computed
	Passes    Figure = "passes"    // total forward passes
	Busy      Figure = "busy"      // total time in which the scheduler's loop was not idle, s
	Device    Figure = "device"    // total time of forward passes on the device, s
)

// Figures of a server as a whole.
const (
	AllGenerated Figure = "all generated" // total tokens generated
	Prompt       Figure = "prompt"        // total prompt tokens looked up in the prefix cache
	Cached       Figure = "cached"        // total prompt tokens found in the prefix cache
	Received     Figure = "received"      // total requests
	Served       Figure = "served"        // total requests that have ended
	Aborted      Figure = "aborted"       // total requests aborted
	Retracted    Figure = "retracted"     // requests that lost their place in the KV cache
	Drafts       Figure = "drafts"        // total drafts of speculative decoding; above 0: several tokens a step
	Drafted      Figure = "drafted"       // total tokens in drafts
	Accepted     Figure = "accepted"      // total tokens of drafts that were accepted
	Other        Figure = "other"         // kept with a run and not interpreted
)

// Latencies of requests.
const (
	TTFT = "TTFT" // time to the first token, s
	ITL  = "ITL"  // time between two tokens, s
	E2E  = "E2E"  // time of the whole request, s
)

// Metric is a metric of /metrics and its meaning. Metrics of the same figure are added.
type Metric struct {
	Name   string // without prefix
	Figure Figure
	// If Only is set, only samples with this label count. If But is set, samples with this label do not count.
	Only, But [2]string
	Former    bool // the name in earlier releases
	Less      bool // subtracted instead of added
}

// Cache is a metric whose labels describe the KV cache.
type Cache struct {
	Name   string // without prefix; "": there is none
	Blocks string // label: number of blocks
	Size   string // label: tokens of a block
	DType  string // label: number format, or "auto"
}

// sglang holds SGLang's metrics from 0.5.11 on. Stepscope's server has the same names.
var sglang = []Metric{
	{Name: "num_running_reqs", Figure: Running},
	{Name: "num_queue_reqs", Figure: Queued},
	{Name: "token_usage", Figure: Usage},
	{Name: "decode_sum_seq_lens", Figure: Context},
	{Name: "num_used_tokens", Figure: Used},
	{Name: "gen_throughput", Figure: Rate},
	{Name: "realtime_tokens_total", Figure: Generated, Only: [2]string{"mode", "decode"}},
	{Name: "realtime_tokens_total", Figure: Computed, Only: [2]string{"mode", "prefill_compute"}},
	{Name: "cuda_graph_passes_total", Figure: Passes},
	{Name: "scheduler_stage_seconds_total", Figure: Busy, But: [2]string{"category", "idle"}},
	{Name: "forward_execution_seconds_total", Figure: Device},
	{Name: "generation_tokens_total", Figure: AllGenerated},
	{Name: "prompt_tokens_total", Figure: Prompt},
	{Name: "cached_tokens_total", Figure: Cached},
	{Name: "num_requests_total", Figure: Received},
	{Name: "num_requests_total", Figure: Served},
	{Name: "num_aborted_requests_total", Figure: Aborted},
	{Name: "num_retracted_reqs", Figure: Retracted},
	{Name: "spec_accept_length", Figure: Drafts},
	{Name: "cache_hit_rate", Figure: Other},
}

// vllm holds vLLM's metrics from 0.10 on.
var vllm = []Metric{
	{Name: "num_requests_running", Figure: Running},
	{Name: "num_requests_waiting", Figure: Queued},
	{Name: "kv_cache_usage_perc", Figure: Usage},
	{Name: "gpu_cache_usage_perc", Figure: Usage, Former: true},
	{Name: "generation_tokens_total", Figure: Generated},
	{Name: "prompt_tokens_total", Figure: Computed},
	{Name: "prompt_tokens_cached_total", Figure: Computed, Less: true}, // earlier releases do not tell cached tokens apart
	{Name: "iteration_tokens_total_count", Figure: Passes},
	{Name: "generation_tokens_total", Figure: AllGenerated},
	{Name: "prefix_cache_queries_total", Figure: Prompt},
	{Name: "prefix_cache_hits_total", Figure: Cached},
	{Name: "request_success_total", Figure: Served},
	{Name: "num_preemptions_total", Figure: Other},
	// vLLM's exporter adds _total to the names of counters; others do not.
	{Name: "spec_decode_num_drafts_total", Figure: Drafts},
	{Name: "spec_decode_num_drafts", Figure: Drafts, Former: true},
	{Name: "spec_decode_num_draft_tokens_total", Figure: Drafted},
	{Name: "spec_decode_num_draft_tokens", Figure: Drafted, Former: true},
	{Name: "spec_decode_num_accepted_tokens_total", Figure: Accepted},
	{Name: "spec_decode_num_accepted_tokens", Figure: Accepted, Former: true},
	{Name: AcceptedPositions + "_total", Figure: Other},
	{Name: AcceptedPositions, Figure: Other, Former: true},
}

// AcceptedPositions is vLLM's counter of accepted tokens by the label position, the position in the draft.
const AcceptedPositions = "spec_decode_num_accepted_tokens_per_pos"

// Latencies of requests by name. Only one name of each list is read, because a release may export both.
var (
	sglangLatency = map[string][]string{
		TTFT: {"time_to_first_token_seconds"},
		ITL:  {"inter_token_latency_seconds"},
		E2E:  {"e2e_request_latency_seconds"},
	}
	vllmLatency = map[string][]string{
		TTFT: {"time_to_first_token_seconds"},
		ITL:  {"inter_token_latency_seconds", "time_per_output_token_seconds"}, // the second until 0.12
		E2E:  {"e2e_request_latency_seconds"},
	}
)

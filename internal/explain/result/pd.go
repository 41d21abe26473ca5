package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Limits of the throughput of prefill and decode servers.
const (
	LimitPrefill  = "prefill"
	LimitDecode   = "decode"
	LimitTransfer = "transfer"
	LimitLoad     = "load" // nothing queues: the servers could take more load
	LimitUnknown  = "unknown"
)

// Limits is the kind of the finding that names the limit.
const Limits = "pd_limit"

// PD is the result of PrefillDecode.
type PD struct {
	Prefill  PDSide    `json:"prefill"`
	Decode   PDSide    `json:"decode"`
	Transfer Transfers `json:"transfer"`
	Limit    string    `json:"limit"`    // prefill, decode, transfer, load or unknown
	Findings []Finding `json:"findings"` // the limit and its evidence
	Notes    []Note    `json:"notes"`
}

// PDSide sums up the servers of one role. Shares are means over ranks; rates are sums over servers.
type PDSide struct {
	Servers    []PDServer `json:"servers"`
	Steps      int        `json:"steps"`
	Stepping   float64    `json:"stepping"` // share of the time in forward steps
	Busy       float64    `json:"busy"`     // share of the time in which kernels ran
	TokensPerS float64    `json:"tokens_s"` // new tokens in its steps; 0: not recorded
	Queue      Queue      `json:"queue"`
}

// PDServer is one server's part.
type PDServer struct {
	Name       string  `json:"name"`
	Ranks      int     `json:"ranks"`
	Steps      int     `json:"steps"`
	OtherSteps int     `json:"other_steps"` // steps of the other side's kind
	FromNS     int64   `json:"from_ns"`     // start of the recording, since the epoch
	WindowNS   int64   `json:"window_ns"`   // length of the recording, mean over ranks
	Stepping   float64 `json:"stepping"`
	Busy       float64 `json:"busy"`
	NoCore     float64 `json:"no_core"` // share of the time in which a software device had no core
	TokensPerS float64 `json:"tokens_s"`
	Period     int64   `json:"step_median_ns"` // from a step's start to the next step's
	Batch      float64 `json:"batch_mean"`     // requests per step; 0: unknown
	BatchMax   int     `json:"batch_max"`
	Queue      Queue   `json:"queue"`
}

// Queue holds mean numbers of requests over samples; for a side, summed over its servers.
type Queue struct {
	Samples     int     `json:"samples"` // 0: unknown
	Running     float64 `json:"running"`
	MostRunning int     `json:"most_running"`
	Waiting     float64 `json:"waiting"`
	Bootstrap   float64 `json:"bootstrap"`
	Inflight    float64 `json:"inflight"`
	Prealloc    float64 `json:"prealloc"`
	Transfer    float64 `json:"transfer"`
	Retracted   float64 `json:"retracted"`
	KVUsage     float64 `json:"kv_usage"` // largest
}

// Transfers describes the KV transfers from prefill to decode servers. SGLang's traces do not show them; stepscope's
// do, as copies named kv_send and kv_recv with the room of their request.
type Transfers struct {
	Seen   int `json:"seen"`   // requests with at least one recorded copy
	Whole  int `json:"whole"`  // requests with all layers recorded; the figures cover these
	Copies int `json:"copies"` // copies of one layer between two ranks, of whole requests
	// By names the key that paired the two sides of a request: rooms, request IDs, or nothing if only one side was
	// recorded.
	By    string  `json:"by"`
	Bytes int64   `json:"bytes"` // of whole requests
	GBs   float64 `json:"gb_s"`  // over the time in which their copies ran
	// Sending is the share of the prefill servers' windows in which they sent anything.
	Sending float64   `json:"sending"`
	Took    Spread    `json:"took"`    // from its first byte sent to its last one received
	Exposed Spread    `json:"exposed"` // from the end of its last prefill kernel to its last byte received
	Joined  Spread    `json:"joined"`  // from the later of then and its last byte received to its first decode step
	Clocks  fact.Fact `json:"clocks"`  // agreement of the sides' clocks, as far as known
	// ShiftNS is the largest shift, over all pairs, that was added to decode servers' times.
	ShiftNS int64 `json:"shift_ns"`
}

// Spread is the distribution of a time over requests.
type Spread struct {
	N      int   `json:"n"`
	Median int64 `json:"median_ns"`
	P99    int64 `json:"p99_ns"`
	Max    int64 `json:"max_ns"`
}

package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Limits of the throughput of prefill and decode servers.
const (
	LimitPrefill  = "prefill"
	LimitDecode   = "decode"
	LimitTransfer = "transfer"
	LimitLoad     = "load" // no requests queue, so the servers could take more load
	LimitUnknown  = "unknown"
)

// Limits is the kind of the finding that names the limit of the throughput.
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

// PDSide sums up the prefill servers or the decode servers. Shares are means over ranks; rates are sums over servers.
type PDSide struct {
	Servers    []PDServer `json:"servers"`
	Steps      int        `json:"steps"`
	Stepping   float64    `json:"stepping"` // share of the time in forward steps
	Busy       float64    `json:"busy"`     // share of the time in which kernels ran
	TokensPerS float64    `json:"tokens_s"` // new tokens/s in the side's steps; 0: not recorded
	Queue      Queue      `json:"queue"`
}

// PDServer describes one server of a side.
type PDServer struct {
	Name       string  `json:"name"`
	Ranks      int     `json:"ranks"`
	Steps      int     `json:"steps"`
	OtherSteps int     `json:"other_steps"` // number of steps of the other side's kind
	FromNS     int64   `json:"from_ns"`     // start of the recording, ns since the epoch
	WindowNS   int64   `json:"window_ns"`   // length of the recording, mean over ranks
	Stepping   float64 `json:"stepping"`
	Busy       float64 `json:"busy"`
	NoCore     float64 `json:"no_core"` // share of the time in which a software device had no core
	TokensPerS float64 `json:"tokens_s"`
	Period     int64   `json:"step_median_ns"` // time from the start of a step to the start of the next step
	Batch      float64 `json:"batch_mean"`     // requests per step; 0: unknown
	BatchMax   int     `json:"batch_max"`
	Queue      Queue   `json:"queue"`
}

// Queue holds mean numbers of requests over samples. For a side, the means are summed over the servers.
type Queue struct {
	Samples     int     `json:"samples"` // number of samples; 0: the queues are unknown
	Running     float64 `json:"running"`
	MostRunning int     `json:"most_running"`
	Waiting     float64 `json:"waiting"`
	Bootstrap   float64 `json:"bootstrap"`
	Inflight    float64 `json:"inflight"`
	Prealloc    float64 `json:"prealloc"`
	Transfer    float64 `json:"transfer"`
	Retracted   float64 `json:"retracted"`
	KVUsage     float64 `json:"kv_usage"` // largest of the servers and ranks
}

// Transfers describes the KV transfers from prefill to decode servers. SGLang's traces do not show transfers. Traces of
// stepscope's own server show them as copies named kv_send and kv_recv with the room of the request.
type Transfers struct {
	Seen   int `json:"seen"`   // number of requests with at least one recorded copy
	Whole  int `json:"whole"`  // number of requests with all layers recorded; the figures below cover these
	Copies int `json:"copies"` // number of copies of one layer between two ranks, for the requests in Whole
	// By names the key by which the two sides of a request were paired: rooms or request IDs. It is "" if only one side
	// was recorded.
	By    string  `json:"by"`
	Bytes int64   `json:"bytes"` // size of the copies
	GBs   float64 `json:"gb_s"`  // Bytes divided by the time in which the copies ran
	// Sending is the share of the prefill servers' windows in which KV cache was being sent.
	Sending float64   `json:"sending"`
	Took    Spread    `json:"took"`    // from a request's first byte sent to its last byte received
	Exposed Spread    `json:"exposed"` // from the end of the request's last prefill kernel to its last byte received
	Joined  Spread    `json:"joined"`  // from the later of these two moments to the request's first decode step
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

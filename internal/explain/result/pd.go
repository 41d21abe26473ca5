package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// What limits the throughput of prefill and decode servers.
const (
	LimitPrefill  = "prefill"
	LimitDecode   = "decode"
	LimitTransfer = "transfer"
	LimitLoad     = "load" // nobody waits: more could be asked
	LimitUnknown  = "unknown"
)

// Limits is the kind of the finding that says so.
const Limits = "pd_limit"

// PD is what PrefillDecode finds.
type PD struct {
	Prefill  PDSide    `json:"prefill"`
	Decode   PDSide    `json:"decode"`
	Transfer Transfers `json:"transfer"`
	Limit    string    `json:"limit"`    // prefill, decode, transfer, load or unknown
	Findings []Finding `json:"findings"` // which, and why
	Notes    []Note    `json:"notes"`
}

// PDSide is what the servers of one role did. Shares are means over ranks; rates are
// sums over servers.
type PDSide struct {
	Servers    []PDServer `json:"servers"`
	Steps      int        `json:"steps"`
	Stepping   float64    `json:"stepping"` // share of the time in forward steps
	Busy       float64    `json:"busy"`     // share of the time in which kernels ran
	TokensPerS float64    `json:"tokens_s"` // new tokens in its steps; 0: the steps do not say
	Queue      Queue      `json:"queue"`
}

// PDServer is one server's part.
type PDServer struct {
	Name       string  `json:"name"`
	Ranks      int     `json:"ranks"`
	Steps      int     `json:"steps"`
	OtherSteps int     `json:"other_steps"` // of the other side's kind
	FromNS     int64   `json:"from_ns"`     // since the epoch: its recording begins
	WindowNS   int64   `json:"window_ns"`   // how long it was recorded, the mean over ranks
	Stepping   float64 `json:"stepping"`
	Busy       float64 `json:"busy"`
	NoCore     float64 `json:"no_core"` // share of the time for which a software device had no core
	TokensPerS float64 `json:"tokens_s"`
	Period     int64   `json:"step_median_ns"` // from a step's start to the next one's
	Batch      float64 `json:"batch_mean"`     // requests a step; 0: not said
	BatchMax   int     `json:"batch_max"`
	Queue      Queue   `json:"queue"`
}

// Queue is a mean over samples of requests: of a side, the sum over its servers.
type Queue struct {
	Samples     int     `json:"samples"` // 0: not known
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

// Transfers is what went from prefill to decode servers. SGLang's traces do not show
// it, stepscope's do: copies named kv_send and kv_recv, with the room of their request.
type Transfers struct {
	Seen   int `json:"seen"`   // requests of which some copy was recorded
	Whole  int `json:"whole"`  // of these, all layers: of them are the figures
	Copies int `json:"copies"` // of a layer between two ranks, of those
	// By what the two sides of a request were brought together: rooms, request ids,
	// or nothing, where one side alone was recorded.
	By    string  `json:"by"`
	Bytes int64   `json:"bytes"` // of those that are whole
	GBs   float64 `json:"gb_s"`  // over the time in which copies of them ran
	// Sending is the share of prefill servers' windows in which anything was sent.
	Sending float64   `json:"sending"`
	Took    Spread    `json:"took"`    // from its first byte sent to its last one received
	Exposed Spread    `json:"exposed"` // from the end of its last prefill kernel to its last byte received
	Joined  Spread    `json:"joined"`  // from then, or its last byte received if that was later, to its first decode step
	Clocks  fact.Fact `json:"clocks"`  // what is known of the agreement of the sides' clocks
	// ShiftNS was added to decode servers' times, the most of all pairs.
	ShiftNS int64 `json:"shift_ns"`
}

// Spread is how a time is spread over requests.
type Spread struct {
	N      int   `json:"n"`
	Median int64 `json:"median_ns"`
	P99    int64 `json:"p99_ns"`
	Max    int64 `json:"max_ns"`
}

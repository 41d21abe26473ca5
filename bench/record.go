// Package bench holds the results of a load: a [Record] for each request, and a [Run] for the load as a whole. It
// contains the only definitions of TTFT, ITL, TPOT and E2E, and of all figures computed from them.
//
// Times are int64 nanoseconds from the start of the run on a monotonic clock. A moment that did not occur is [Never]; 0
// is the start of the run and never means "not measured".
package bench

// Never marks a moment that did not occur.
const Never int64 = -1

// Record describes one request: its parameters, times and response.
type Record struct {
	ID    string `json:"id"`    // id sent to the server (rid), if the API accepts one
	Index int    `json:"index"` // position in the plan, from 0
	Turn  int    `json:"turn"`  // round of a conversation, from 0

	Scheduled int64 `json:"scheduled"` // planned send time
	Released  int64 `json:"released"`  // --max-concurrency allowed the request to be sent
	Connected int64 `json:"connected"` // connection established, or an idle one taken for reuse
	Sent      int64 `json:"sent"`      // last byte of the request passed to the kernel; latencies count from here
	Headers   int64 `json:"headers"`   // status line received
	FirstAny  int64 `json:"first_any"` // first event, even if it carries only a role
	First     int64 `json:"first"`     // first event with text, reasoning included
	Visible   int64 `json:"visible"`   // first event with text that is not reasoning
	Last      int64 `json:"last"`      // last event with text
	Done      int64 `json:"done"`      // last byte received, or the request failed

	PromptLen    int        `json:"prompt_len"`  // tokens; the server's count if known, else the data set's
	TextLen      int        `json:"text_len"`    // text tokens in PromptLen
	VisionLen    int        `json:"vision_len"`  // image tokens in PromptLen
	AskedLen     int        `json:"asked_len"`   // limit on generated tokens
	OutputLen    int        `json:"output_len"`  // tokens generated, see OutputFrom
	Retokenized  int        `json:"retokenized"` // tokens obtained by encoding Text again; -1: no tokenizer
	CachedTokens int        `json:"cached"`      // prompt tokens from the server's cache; -1: unknown
	Status       int        `json:"status"`      // HTTP status; 0: none received
	DPRank       int        `json:"dp_rank"`     // -1: unknown
	OutputFrom   OutputFrom `json:"output_from"` // source of OutputLen

	Held    bool    `json:"held,omitempty"`    // not a stream, or a stream that was held back: its tokens have no times
	Finish  string  `json:"finish,omitempty"`  // finish_reason
	Failure Failure `json:"failure,omitempty"` // "": success
	Error   string  `json:"error,omitempty"`   // one line, for human readers
	Text    string  `json:"text,omitempty"`    // generated text, kept only if the user asked for it

	// Chunks are the events with tokens or text, in order.
	Chunks []Chunk `json:"chunks,omitempty"`
	// Blank holds the receive times of the other events with a choice, such as a role or a finish reason (OpenAI's APIs).
	Blank []int64 `json:"blank,omitempty"`

	// CachedDetails are SGLang's cached_tokens_details, if requested.
	CachedDetails map[string]any `json:"cached_details,omitempty"`
}

// Chunk is one event of a stream that contained tokens or text.
type Chunk struct {
	At     int64 `json:"at"`     // receive time; Run.Stamps gives its source
	Tokens int   `json:"tokens"` // new completion tokens; -1: counted by neither server nor tokenizer
	Text   bool  `json:"text"`   // contained text
	// Merged means that one read returned both this event and the preceding one, so that At may be too late for both
	// events.
	Merged bool `json:"merged,omitempty"`
}

// OutputFrom is the source of an output length.
type OutputFrom string

// Sources of an output length, the most reliable first.
const (
	FromServer    OutputFrom = "server"    // meta_info or usage
	FromTokenizer OutputFrom = "tokenizer" // the tokenizer's count for the generated text
	FromChunks    OutputFrom = "chunks"    // one token per event: a guess
	FromRequest   OutputFrom = "request"   // the requested length: a guess that SGLang's client makes as well
)

// Failure is the reason that a request failed.
type Failure string

// Reasons for failure. A failing HTTP status is written as "http_500", for example.
const (
	Refused     Failure = "refused"      // no connection
	Timeout     Failure = "timeout"      // no connection, no headers or no event within the time limit
	Reset       Failure = "reset"        // connection broken before the reply began
	Cut         Failure = "cut"          // stream broken off, or ended without its end marker
	Malformed   Failure = "malformed"    // reply is not HTTP, not an event stream, or not JSON
	Empty       Failure = "empty"        // status 200, but no token
	ServerError Failure = "server_error" // an error event in a stream
	Interrupted Failure = "interrupted"  // in progress when the user or the time limit of the load ended it
	NotSent     Failure = "not_sent"     // not yet sent when the user ended the run; neither a failure nor a success
)

// OK reports whether the request succeeded.
func (r *Record) OK() bool { return r.Failure == "" }

// Stamps is the source of receive times.
type Stamps string

// Sources of receive times.
const (
	KernelStamps Stamps = "kernel" // SO_TIMESTAMPING: the last byte of a read reached the socket
	UserStamps   Stamps = "user"   // the read returned
)

// Run describes a load and its outcome. The records of its requests are stored separately: see internal/runs.
type Run struct {
	Tool    string `json:"tool"` // "bench serving"
	Backend string `json:"backend"`
	Model   string `json:"model"`
	URL     string `json:"url"`
	Dataset string `json:"dataset"`
	Tag     string `json:"tag,omitempty"`
	Seed    int64  `json:"seed"`

	Rate           float64 `json:"rate"`            // requests/s; 0: all at once ("inf")
	Traced         bool    `json:"traced"`          // requests were sent at the times given by a trace
	MaxConcurrency int     `json:"max_concurrency"` // 0: not set

	// StartWall is the wall clock at time 0, in ns since the epoch. Drift is how far the wall clock had drifted from
	// the monotonic clock by the end of the run.
	StartWall int64  `json:"start_wall"`
	Drift     int64  `json:"drift"`
	Duration  int64  `json:"duration"` // from the first send to the last end; excludes stopping a profiler
	Stamps    Stamps `json:"stamps"`
	Health    Health `json:"health"`
	// Profiled is the time touched by profiling windows, one span for each, in order. A span begins just before
	// stepscope asks the profiler to start. If the window has a start step, the span begins at the last moment at which
	// stepscope knew that the server had not reached that step. The span ends when all traces have been written. It
	// therefore includes arming, recording and exporting. With several servers, the span begins with the first server
	// and ends with the last one. If the time of writing is unknown, the span extends to the end of the load. A request
	// or a gap between tokens is touched if it overlaps a span. Runs recorded by older versions have no span for
	// windows whose length was given in steps.
	Profiled []Span `json:"profiled,omitempty"`

	// Args are the flags of the run as the user gave them. ServerInfo is the server's description of itself.
	Args       map[string]any `json:"args,omitempty"`
	ServerInfo map[string]any `json:"server_info,omitempty"`
}

// Span is a period, in ns from the start of the run.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Health describes the accuracy of the client's timing. All times are in ns.
type Health struct {
	Verdict  string   `json:"verdict"` // clean, suspect, invalid
	Evidence []string `json:"evidence,omitempty"`

	SendLateP50  int64 `json:"send_late_p50"` // delay of Sent after Scheduled and Released
	SendLateP99  int64 `json:"send_late_p99"`
	SendLateP999 int64 `json:"send_late_p999"`
	SendLateMax  int64 `json:"send_late_max"`
	StampErrP99  int64 `json:"stamp_error_p99"` // error bound of receive times
	StallCount   int   `json:"stalls"`          // number of times that the client's scheduler paused for over 1 ms
	StallMax     int64 `json:"stall_max"`
	GCPauseMax   int64 `json:"gc_pause_max"`
	MergedReads  int   `json:"merged_reads"` // reads that returned several events of one stream
	Reads        int   `json:"reads"`
}

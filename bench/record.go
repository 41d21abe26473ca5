// Package bench is what became of the requests of a load: one [Record] for each,
// and the [Run] that they make. TTFT, ITL, TPOT, E2E and all that is computed
// from them are defined here and nowhere else.
//
// Times are int64 nanoseconds from the start of the run on a monotonic clock.
// A moment that never came is [Never]; 0 is the start of the run and never stands
// for "not measured".
package bench

// Never marks a moment that did not come.
const Never int64 = -1

// Record is one request: what was asked, when, and what came back.
type Record struct {
	ID    string `json:"id"`    // as sent to the server (rid), where the API takes one
	Index int    `json:"index"` // place in the plan, from 0
	Turn  int    `json:"turn"`  // round of a conversation, from 0

	Scheduled int64 `json:"scheduled"` // when the plan wanted it sent
	Released  int64 `json:"released"`  // when --max-concurrency let it go
	Connected int64 `json:"connected"` // the connection stood; a reused one: when it was taken
	Sent      int64 `json:"sent"`      // the request's last byte was handed to the kernel; latencies count from here
	Headers   int64 `json:"headers"`   // the status line was there
	FirstAny  int64 `json:"first_any"` // the first event, even one without text (a role)
	First     int64 `json:"first"`     // the first event with text, reasoning included
	Visible   int64 `json:"visible"`   // the first event with text that is no reasoning
	Last      int64 `json:"last"`      // the last event with text
	Done      int64 `json:"done"`      // the last byte, or the failure

	PromptLen    int        `json:"prompt_len"`  // tokens, as the data set says; the server's count where it gives one
	TextLen      int        `json:"text_len"`    // of them text
	VisionLen    int        `json:"vision_len"`  // of them images
	AskedLen     int        `json:"asked_len"`   // most tokens to generate
	OutputLen    int        `json:"output_len"`  // generated, see OutputFrom
	Retokenized  int        `json:"retokenized"` // tokens of Text, encoded again; -1: no tokenizer
	CachedTokens int        `json:"cached"`      // prompt tokens from the server's cache; -1: it does not say
	Status       int        `json:"status"`      // HTTP; 0: none came
	DPRank       int        `json:"dp_rank"`     // -1: not said
	OutputFrom   OutputFrom `json:"output_from"` // where OutputLen comes from

	Finish  string  `json:"finish,omitempty"`  // finish_reason
	Failure Failure `json:"failure,omitempty"` // "": success
	Error   string  `json:"error,omitempty"`   // one line for people
	Text    string  `json:"text,omitempty"`    // generated; kept when asked for

	// Chunks are the events with tokens or text, in order.
	Chunks []Chunk `json:"chunks,omitempty"`

	// CachedDetails are SGLang's cached_tokens_details, when asked for.
	CachedDetails map[string]any `json:"cached_details,omitempty"`
}

// Chunk is one event of a stream that brought tokens or text.
type Chunk struct {
	At     int64 `json:"at"`     // when it was received: by the kernel, see Run.Stamps
	Tokens int   `json:"tokens"` // completion tokens that are new in it; -1: neither the server nor a tokenizer says
	Text   bool  `json:"text"`   // it brought text
	// Merged: it came in one read with the event before, so At is no later than
	// true for neither.
	Merged bool `json:"merged,omitempty"`
}

// OutputFrom says how an output length is known.
type OutputFrom string

// The sources of an output length, best first.
const (
	FromServer    OutputFrom = "server"    // meta_info or usage
	FromTokenizer OutputFrom = "tokenizer" // the text, encoded again
	FromChunks    OutputFrom = "chunks"    // one token for each event: a guess
	FromRequest   OutputFrom = "request"   // what was asked for: a guess, as SGLang's client makes it
)

// Failure is why a request did not succeed.
type Failure string

// The reasons. HTTP statuses are "http_500" and so on.
const (
	Refused     Failure = "refused"      // no connection
	Timeout     Failure = "timeout"      // no connection, no headers or no event within the limit
	Reset       Failure = "reset"        // the connection broke before the reply began
	Cut         Failure = "cut"          // the stream ended in the middle, or without its end
	Malformed   Failure = "malformed"    // the reply is no HTTP, no event stream, or no JSON
	Empty       Failure = "empty"        // status 200 and no token
	ServerError Failure = "server_error" // an error event in a stream
	Interrupted Failure = "interrupted"  // the run was ended by its user
	NotSent     Failure = "not_sent"     // the run was ended by its user before; no failure, and no success
)

// OK tells success.
func (r *Record) OK() bool { return r.Failure == "" }

// Stamps says how receive times were taken.
type Stamps string

// The ways.
const (
	KernelStamps Stamps = "kernel" // SO_TIMESTAMPING: when the last byte of a read reached the socket
	UserStamps   Stamps = "user"   // when the read returned
)

// Run is a load and what became of it. Records are kept apart: see package store.
type Run struct {
	Tool    string `json:"tool"` // "bench serving"
	Backend string `json:"backend"`
	Model   string `json:"model"`
	URL     string `json:"url"`
	Dataset string `json:"dataset"`
	Tag     string `json:"tag,omitempty"`
	Seed    int64  `json:"seed"`

	Rate           float64 `json:"rate"`            // requests/s; 0: all at once ("inf")
	Traced         bool    `json:"traced"`          // requests came at the times of a trace
	MaxConcurrency int     `json:"max_concurrency"` // 0: not set

	// StartWall is the wall clock at time 0, ns since the epoch, taken once, and
	// Drift by how much it ran from the monotonic one until the end.
	StartWall int64  `json:"start_wall"`
	Drift     int64  `json:"drift"`
	Duration  int64  `json:"duration"` // from the first request until the last ended; stopping a profiler is no part of it
	Stamps    Stamps `json:"stamps"`
	Health    Health `json:"health"`
	// Profiled is the time that profiling windows touched, one span for each, in order:
	// from just before the profiler was asked to start (with a start step: from when that
	// was last seen to be still to come) until all its traces had been written, so that
	// arming, recording and the export are all in it; of several servers from the first to
	// the last of them. Where nobody saw when the traces were written, it goes to the end
	// of the load. A request, or a gap between tokens, was touched if it overlaps a span.
	// Older runs have no span of a window of a number of steps.
	Profiled []Span `json:"profiled,omitempty"`

	// Args are the flags of the run as given; ServerInfo what the server said of itself.
	Args       map[string]any `json:"args,omitempty"`
	ServerInfo map[string]any `json:"server_info,omitempty"`
}

// Span is a stretch of a run, in the run's time.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Health is what the client knows about its own timing. All times are ns.
type Health struct {
	Verdict  string   `json:"verdict"` // clean, suspect, invalid
	Evidence []string `json:"evidence,omitempty"`

	SendLateP50  int64 `json:"send_late_p50"` // sent after it was scheduled and released
	SendLateP99  int64 `json:"send_late_p99"`
	SendLateP999 int64 `json:"send_late_p999"`
	SendLateMax  int64 `json:"send_late_max"`
	StampErrP99  int64 `json:"stamp_error_p99"` // bound of the error of receive times
	StallCount   int   `json:"stalls"`          // the client's own scheduler stood still for over 1 ms
	StallMax     int64 `json:"stall_max"`
	GCPauseMax   int64 `json:"gc_pause_max"`
	MergedReads  int   `json:"merged_reads"` // reads that brought several events of one stream
	Reads        int   `json:"reads"`
}

// Package servers is the table of the kinds of LLM servers: one row a kind. A row states how to recognise a server, its
// profile routes and their habits, the metrics of its live state, its log lines, and the flags and variables that
// advice may name. All verbs use this table, so a new kind of server is a new row.
package servers

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Kind is the program that a server runs.
type Kind string

// Kinds of servers.
const (
	SGLang    Kind = "SGLang"
	Stepscope Kind = "stepscope"
	VLLM      Kind = "vLLM"
	OpenAI    Kind = "OpenAI-compatible" // serves /v1/models and is no other kind
	Unknown   Kind = "unknown"
)

// Row describes a kind of server. Routes and habits come from the programs' sources: SGLang 0.5.6 to 0.5.23, vLLM 0.10
// to 0.32.
type Row struct {
	Kind    Kind
	Prefix  string              // prefix of the names of its metrics, up to the colon; "": it has none
	Metrics []Metric            // figures of its live state in /metrics
	Latency map[string][]string // histograms of request latencies by [TTFT], [ITL] and [E2E], without prefix, the preferred name first
	Cache   Cache
	Profile Profile
	Probe   Probe
	Flush   []string // routes that empty the prefix cache, the first for all
	Line    func(text string) (Line, bool)
	Advice  Advice

	// Stale is the number of steps since which gauges may not have changed; 0: gauges are current. A server can report
	// another number as decode_log_interval.
	Stale    int
	Forwards bool // /server_info has the count of forward steps
	Quick    bool // that route costs the schedulers nothing
}

// Profile describes the profile routes of a kind.
type Profile struct {
	Ends    bool // /start_profile takes a number of steps, and the server ends the window
	OwnDir  bool // traces go to a directory that is set at the server's start
	Files   bool // /profile_files lists and serves the traces, and reports the end of a window
	Merges  Merging
	Refuses bool // a second start is refused while a window is open
	Silent  bool // the server gives the reason of a failure (500) only in its log
	Stalls  bool // the server serves no requests while it writes traces
	Stages  bool // the number of recorded steps depends on the release and on stages
	// Step is the shortest time of a forward step. It bounds the number of steps in a window of a fixed time.
	Step time.Duration
}

// Merging states when a server writes a merged trace on request.
type Merging int

// Values of Merging.
const (
	MergesNever      Merging = iota
	MergesUnprefixed         // only if the files have no prefix
	Merges
)

// Probe is a tiny request that gives an idle server work.
type Probe struct {
	Route  string
	Prompt string         // key of the prompt
	Body   map[string]any // the other keys
	Model  bool           // the request names the model
}

// Advice holds the parts of advice that name flags and variables of a kind.
type Advice struct {
	Profiler string // how to start the server with its profiler; "": it always has one
	Metrics  string // how to start it with /metrics
	Flush    string // how to start it with routes that flush the cache; "": it always has them
	Host     string // what reports the host time of a step; "": nothing
	Device   string // what reports the device time of a step; "": nothing
	Backend  string // value of --backend for loads; "": the default
}

// FlushError adds advice to the error of a request to a route of Flush that the server lacks.
func (r *Row) FlushError(err error) error {
	refused, ok := errors.AsType[*client.Refused](err)
	if ok && refused.Status == http.StatusNotFound && r.Advice.Flush != "" {
		return fmt.Errorf("%w: %s", err, r.Advice.Flush)
	}
	return err
}

// Row returns the row of a kind. For an unknown kind, it returns the row of Unknown.
func (k Kind) Row() *Row {
	for i := range Table {
		if Table[i].Kind == k {
			return &Table[i]
		}
	}
	return &Table[len(Table)-1]
}

package trace

// Reference is the decode step time of a server while no profiler was recording. Comparing the steps of a window with
// this reference gives the cost of recording.
type Reference struct {
	From  string `json:"from"`  // FromTokens, FromCounters or FromUser
	Batch int    `json:"batch"` // number of requests in decode around the time of the window; 0: unknown
	// Upper means that the times include prefill steps between decode steps, so that the true times of decode steps are
	// lower.
	Upper bool       `json:"upper,omitempty"`
	Paces []StepTime `json:"decode"` // step times, by batch size
}

// StepTime is the median duration of decode steps at one batch size.
type StepTime struct {
	Batch  int   `json:"batch"` // number of requests in a step, summed over all data-parallel ranks; 0: unknown
	N      int   `json:"n"`     // number of values behind Median, each of one step or a mean of several steps
	Median int64 `json:"median_ns"`
	Low    int64 `json:"low_ns"` // confidence interval of the median
	High   int64 `json:"high_ns"`
}

// Sources of references.
const (
	FromTokens   = "tokens"   // inter-token times of a load
	FromCounters = "counters" // the server's counters
	FromUser     = "given"    // entered by the user
)

// Names of files that describe the server of a window, stored beside its traces: the config.json of the model, and the
// server's arguments as /server_info gives them, without keys and passwords.
const (
	ModelFile      = "model_config.json"
	ServerArgsFile = "server_args.json"
)

// ReferenceFile is the name of a file with a Reference, stored beside the traces of a window.
const ReferenceFile = "reference.json"

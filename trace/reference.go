package trace

// Reference is what decode steps of a server took while nothing recorded them, beside
// which those of a window say what recording cost.
type Reference struct {
	From  string `json:"from"`  // one of the ways below
	Batch int    `json:"batch"` // requests in decode around the window; 0: not known
	// Upper: steps of prefill between could not be left out, so that steps took less.
	Upper bool       `json:"upper,omitempty"`
	Paces []StepTime `json:"decode"` // by the number of requests
}

// Pace is how long decode steps of one size took, by the median.
type StepTime struct {
	Batch  int   `json:"batch"` // requests in a step, of all data-parallel ranks together; 0: not known
	N      int   `json:"n"`     // steps, or means of several, that Median is of
	Median int64 `json:"median_ns"`
	Low    int64 `json:"low_ns"` // of the median's interval
	High   int64 `json:"high_ns"`
}

// Where references come from.
const (
	FromTokens   = "tokens"   // the times between the tokens of a load
	FromCounters = "counters" // what the server counts
	FromUser     = "given"    // by the user
)

// ReferenceFile is the name of a file with a Reference, beside the traces of a window.
const ReferenceFile = "reference.json"

package trace

// Reference is the decode step time of a server while nothing recorded it. Comparing the steps of a window with it
// gives the cost of recording.
type Reference struct {
	From  string `json:"from"`  // one of the sources below
	Batch int    `json:"batch"` // requests in decode around the window; 0: unknown
	// Upper means that the times include prefill steps in between, so that true step times are lower.
	Upper bool       `json:"upper,omitempty"`
	Paces []StepTime `json:"decode"` // by batch size
}

// StepTime is the median duration of decode steps at one batch size.
type StepTime struct {
	Batch  int   `json:"batch"` // requests in a step, over all data-parallel ranks; 0: unknown
	N      int   `json:"n"`     // number of steps, or of means of several steps, behind Median
	Median int64 `json:"median_ns"`
	Low    int64 `json:"low_ns"` // confidence interval of the median
	High   int64 `json:"high_ns"`
}

// Sources of references.
const (
	FromTokens   = "tokens"   // inter-token times of a load
	FromCounters = "counters" // the server's counters
	FromUser     = "given"    // given by the user
)

// ReferenceFile is the name of a file with a Reference, stored beside the traces of a window.
const ReferenceFile = "reference.json"

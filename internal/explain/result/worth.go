package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Replay describes how accurately the capture's steps can be replayed from recorded durations and dependencies. The
// worth of findings and the predictions of WhatIf are no more accurate than the replay.
type Replay struct {
	Known bool      `json:"known"`
	Why   fact.Fact `json:"why"` // reason if not Known
	Steps int       `json:"steps"`
	// Off and OffP90 are the median and the 90th percentile of the relative errors of steps replayed without changes,
	// compared with the recording.
	Off    float64 `json:"off_median"`
	OffP90 float64 `json:"off_p90"`
	// Unexplained is the share of unexplained gaps in the critical path. A replay keeps these gaps.
	Unexplained float64 `json:"unexplained"`
}

// Worth is how long steps would take without the cause of a finding. It is unknown if the replay is too inaccurate, or
// if the finding has no cause that can be removed.
type Worth struct {
	Known bool   `json:"known"`
	Kind  string `json:"kind"`  // kind of the steps compared, which is the kind of most steps of the finding
	Steps int    `json:"steps"` // number of steps compared
	// Several means that the finding also covers steps of other kinds.
	Several bool `json:"several_kinds"`
	// Step is the median length of these steps. Without is Step minus the pseudo-median of the gains (see
	// metric.PseudoMedian). Low and High bound Without by the 90 % confidence interval of the pseudo-median. For
	// findings, none of them exceeds Step, because a fix is not worth a loss.
	Step    int64 `json:"step_ns"`
	Without int64 `json:"without_ns"`
	Low     int64 `json:"without_low_ns"`
	High    int64 `json:"without_high_ns"`
	// Last is the cost of the finding when the causes of all other findings have been removed. If causes hide each
	// other, Last exceeds Step - Without.
	Last int64 `json:"last_ns"`
	// Hidden means that recording slowed the hosts, or may have slowed them, which hides the worth.
	Hidden bool `json:"hidden_by_recording"`
	// Unrecorded means that Step and all that follows from it are for steps without the cost of recording, which a
	// reference shows.
	Unrecorded bool `json:"without_recording"`
	// AtMost means that all time covered by the finding was removed. The worth is then a bound that cannot be reached.
	AtMost bool `json:"at_most"`
	// Tokens and WithoutTokens are output tokens per second of decode steps, over all data-parallel ranks; 0: unknown.
	Tokens        float64 `json:"tokens_per_s"`
	WithoutTokens float64 `json:"without_tokens_per_s"`
	// Says summarises the worth; "": unknown.
	Says fact.Fact `json:"text"`
}

// Path is the critical path of the steps: the work and waits that determined their length. Rows add up to NS.
type Path struct {
	Steps int        `json:"steps"`
	NS    int64      `json:"total_ns"`
	Rows  []PathRow  `json:"rows"`  // the largest first
	Ranks []PathRank `json:"ranks"` // the largest first
	// Layers also add up to NS. They are empty if no layers are known.
	Layers []PathLayer `json:"layers"` // ordered by stack and number, with work outside layers last
}

// Causes of time on a critical path.
const (
	PathWork     = "work"     // a kernel, copy or memset
	PathTransfer = "transfer" // a collective, after all ranks arrived
	PathHost     = "host"     // host time before a call
	PathLaunch   = "launch"   // from a call to the start of its work
	PathReturn   = "return"   // from the end of the work to the return of a call that waited for the work
	PathDevice   = "device"   // from the end of an op to the next
	PathGap      = "gap"      // unexplained time
)

// PathRow is the time on the critical path with the same rank, cause and class of kernels.
type PathRow struct {
	Rank  int     `json:"rank"`
	Cause string  `json:"cause"`
	Class string  `json:"class"` // class of the kernels that run or are launched; "": none
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// PathRank is the time of one rank on the critical path.
type PathRank struct {
	Rank  int     `json:"rank"`
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
	// Ahead is the largest possible gain, over all steps, from speeding up this rank alone. Beyond this gain, other
	// ranks would arrive last at those collectives on the path at which this rank is last. Next is the rank that would
	// most often be last instead of this rank; -1: none.
	Ahead int64 `json:"ahead_ns"`
	Next  int   `json:"next"`
}

// PathLayer is the time of one layer on the critical path, on all ranks.
type PathLayer struct {
	Stack string  `json:"stack"` // "": outside layers
	Layer int     `json:"layer"` // -1: outside layers
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// WhatIf predicts the length of steps with hypothetical settings.
type WhatIf struct {
	Format   int         `json:"format"` // 1
	Source   Source      `json:"source"`
	Settings []string    `json:"settings"`
	Replay   Replay      `json:"replay"`
	Rows     []WhatIfRow `json:"rows"` // empty if unknown

	Lengths []WhatIfLengths `json:"-"` // one entry per group of ranks that share collectives; empty if unknown
}

// WhatIfLengths holds the recorded and predicted length of each step, for ranks that share collectives. 0: not
// compared.
type WhatIfLengths struct {
	Ranks []int // indices into Source.Ranks
	Was   []int64
	Would []int64
	Ends  []int64 // recorded end of each step, ns on the common clock
}

// WhatIfRow is the prediction for one kind of steps of ranks that share collectives.
type WhatIfRow struct {
	Ranks []int  `json:"ranks"` // indices into Source.Ranks
	Kind  string `json:"kind"`
	// Finding is the ID of the finding whose steps the row covers; "": all steps of the kind in the window.
	Finding string `json:"finding"`
	Worth
}

// sureSteps is the minimum number of steps for a 95 % interval of their median.
const sureSteps = 6

// Sure reports whether there are enough steps to state a worth, and the worth is not hidden.
func (w *Worth) Sure() bool {
	return w.Known && !w.AtMost && !w.Hidden && w.Step > 0 && w.Steps >= sureSteps
}

// NoLoss limits predicted lengths to the recorded length.
func (w *Worth) NoLoss() {
	w.Without, w.Low, w.High = min(w.Without, w.Step), min(w.Low, w.Step), min(w.High, w.Step)
	w.WithoutTokens = max(w.WithoutTokens, w.Tokens)
}

// Which describes the steps to which a finding's worth refers: all steps of a kind, or only the steps of the finding.
func (r *Report) Which(f *Finding) fact.Fact {
	if f.Worth.Unrecorded {
		return fact.Of("worth_unrecorded", "kind", r.Said(f.Worth.Kind))
	}
	if f.FirstStep < 0 {
		return fact.Of("worth_steps", "kind", r.Said(f.Worth.Kind))
	}
	return fact.Of("worth_these", "kind", r.Said(f.Worth.Kind))
}

// Gain returns by how much a step becomes shorter without the cause. If this is more when all other causes have been
// removed first, Gain returns that value.
func (w *Worth) Gain() int64 { return max(w.Step-w.Without, w.Last, 0) }

// Little reports whether steps may not become shorter at all, not even if all other causes have been removed.
func (w *Worth) Little() bool {
	return w.Sure() && w.High >= w.Step && w.Last <= max(w.Step-w.Without, 0)
}

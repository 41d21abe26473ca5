package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Replay is how accurately the capture's steps can be replayed from recorded durations and dependencies. The worth of
// findings and the predictions of WhatIf are no more accurate than that.
type Replay struct {
	Known bool      `json:"known"`
	Why   fact.Fact `json:"why"` // why not Known
	Steps int       `json:"steps"`
	// Off and OffP90 are the relative error of unchanged replayed steps against the recording: median and 90th
	// percentile.
	Off    float64 `json:"off_median"`
	OffP90 float64 `json:"off_p90"`
	// Unexplained is the share of gaps on the critical path without an explanation; a replay keeps them.
	Unexplained float64 `json:"unexplained"`
}

// Worth is how long steps would take without the cause of a finding. It is unknown where the replay abstains, or where
// nothing can be removed.
type Worth struct {
	Known bool   `json:"known"`
	Kind  string `json:"kind"`  // of the steps compared: the kind of most of the finding's steps
	Steps int    `json:"steps"` // steps compared
	// Several: the finding also covers steps of other kinds.
	Several bool `json:"several_kinds"`
	// Step is the median over these steps. Without is Step minus the pseudo-median of their gains (see
	// metric.PseudoMedian), within its 95 % interval.
	Step    int64 `json:"step_ns"`
	Without int64 `json:"without_ns"`
	Low     int64 `json:"without_low_ns"`
	High    int64 `json:"without_high_ns"`
	// Last is its cost once the causes of all other findings are removed. Where causes hide each other it exceeds Step
	// - Without.
	Last int64 `json:"last_ns"`
	// Hidden: recording slowed the hosts, or may have, so the worth cannot be seen.
	Hidden bool `json:"hidden_by_recording"`
	// AtMost: all of the time was removed, which is an unreachable bound.
	AtMost bool `json:"at_most"`
	// Tokens and WithoutTokens are output tokens per second of decode steps, over all data-parallel ranks; 0: unknown.
	Tokens        float64 `json:"tokens_per_s"`
	WithoutTokens float64 `json:"without_tokens_per_s"`
	// Says is the summary; "": unknown.
	Says fact.Fact `json:"text"`
}

// Path is the critical path of the steps: the work and waits that determined their length. The rows add up to NS.
type Path struct {
	Steps int        `json:"steps"`
	NS    int64      `json:"total_ns"`
	Rows  []PathRow  `json:"rows"`  // the largest first
	Ranks []PathRank `json:"ranks"` // the largest first
	// Layers add up to NS, too; empty where no layers are known.
	Layers []PathLayer `json:"layers"` // by stack and number; work outside layers last
}

// Causes of time on a critical path.
const (
	PathWork     = "work"     // a kernel, copy or memset
	PathTransfer = "transfer" // a collective, once all ranks had arrived
	PathHost     = "host"     // host time before a call
	PathLaunch   = "launch"   // from a call to the start of its work
	PathReturn   = "return"   // from the end of the work to the return of a call that waited for it
	PathDevice   = "device"   // from the end of an op to the next
	PathGap      = "gap"      // unexplained
)

// PathRow is time on the critical path of one rank, cause and class of kernels.
type PathRow struct {
	Rank  int     `json:"rank"`
	Cause string  `json:"cause"`
	Class string  `json:"class"` // class of the kernels that it runs or launches; "": none
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// PathRank is time on the critical path of one rank.
type PathRank struct {
	Rank  int     `json:"rank"`
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
	// Ahead is the gain, over all steps, before another rank becomes the last at those collectives on the path at which
	// this one is last; Next is the most frequent such rank, -1: none.
	Ahead int64 `json:"ahead_ns"`
	Next  int   `json:"next"`
}

// PathLayer is time on the critical path of one layer, on all ranks.
type PathLayer struct {
	Stack string  `json:"stack"` // "": outside layers
	Layer int     `json:"layer"` // -1: outside layers
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// WhatIf is the predicted length of steps under changed settings.
type WhatIf struct {
	Format   int         `json:"format"` // 1
	Source   Source      `json:"source"`
	Settings []string    `json:"settings"`
	Replay   Replay      `json:"replay"`
	Rows     []WhatIfRow `json:"rows"` // empty if unknown

	Lengths []WhatIfLengths `json:"-"` // one entry per group of ranks that share collectives; empty if unknown
}

// WhatIfLengths holds recorded and predicted step lengths of ranks that share collectives, by step; 0: not compared.
type WhatIfLengths struct {
	Ranks []int // indices into Source.Ranks
	Was   []int64
	Would []int64
	Ends  []int64 // recorded ends, ns on the common clock
}

// WhatIfRow is the prediction for one kind of steps of ranks that share collectives.
type WhatIfRow struct {
	Ranks []int  `json:"ranks"` // indices into Source.Ranks
	Kind  string `json:"kind"`
	Worth
}

// sureSteps is the minimum number of steps for a 95 % interval of their median.
const sureSteps = 6

// Sure reports whether there are enough steps to state a worth, and nothing hides it.
func (w *Worth) Sure() bool {
	return w.Known && !w.AtMost && !w.Hidden && w.Step > 0 && w.Steps >= sureSteps
}

// Which describes the steps whose length a finding's worth gives: all of their kind, or those of the finding.
func (r *Report) Which(f *Finding) fact.Fact {
	if f.FirstStep < 0 {
		return fact.Of("worth_steps", "kind", r.Said(f.Worth.Kind))
	}
	return fact.Of("worth_these", "kind", r.Said(f.Worth.Kind))
}

// Gain returns by how much a step becomes shorter: alone, or once all else is fixed if that is more.
func (w *Worth) Gain() int64 { return max(w.Step-w.Without, w.Last, 0) }

// Little reports whether steps may become no shorter at all, not even once all else is fixed.
func (w *Worth) Little() bool {
	return w.Sure() && w.High >= w.Step && w.Last <= max(w.Step-w.Without, 0)
}

package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Replay tells how well the steps of a capture can be run again from what everything took
// and waited for: what findings are worth, and any other what-if, is no better than that.
type Replay struct {
	Known bool      `json:"known"`
	Why   fact.Fact `json:"why"` // it is not
	Steps int       `json:"steps"`
	// Off is by what part steps that nothing changes differ from what was recorded: the
	// median, and the 90th percentile.
	Off    float64 `json:"off_median"`
	OffP90 float64 `json:"off_p90"`
	// Unexplained is the share of gaps on the critical path that nothing explains: they stay
	// as they are.
	Unexplained float64 `json:"unexplained"`
}

// Worth is what steps would take without what a finding is about. It is not known where
// a replay abstains, or nothing can be taken away.
type Worth struct {
	Known bool   `json:"known"`
	Kind  string `json:"kind"`  // of the steps that are compared: the one that most are of
	Steps int    `json:"steps"` // of them
	// Several: the finding is about steps of other kinds, too.
	Several bool `json:"several_kinds"`
	// Step is the median over these steps, Without is less by what they gain: the pseudo-median
	// of their gains (see metric.PseudoMedian), within its interval (95 %).
	Step    int64 `json:"step_ns"`
	Without int64 `json:"without_ns"`
	Low     int64 `json:"without_low_ns"`
	High    int64 `json:"without_high_ns"`
	// Last is what it costs on top of a capture without what all other findings are about:
	// where causes hide each other it is more than Step - Without.
	Last int64 `json:"last_ns"`
	// Hidden: recording slowed the hosts, or may have, and they hide what it is worth.
	Hidden bool `json:"hidden_by_recording"`
	// AtMost: all of the time was taken away, which nobody can reach.
	AtMost bool `json:"at_most"`
	// Output tokens per second of decode steps, all data-parallel ranks together; 0: not known.
	Tokens        float64 `json:"tokens_per_s"`
	WithoutTokens float64 `json:"without_tokens_per_s"`
	// All of it; "": not known.
	Says fact.Fact `json:"text"`
}

// Path is the critical path of the steps: what everybody waited for in the end. The rows
// add up to NS.
type Path struct {
	Steps int        `json:"steps"`
	NS    int64      `json:"total_ns"`
	Rows  []PathRow  `json:"rows"`  // the largest first
	Ranks []PathRank `json:"ranks"` // the largest first
	// Layers add up to NS, too; none where no layers are known.
	Layers []PathLayer `json:"layers"` // by stack and number; what is in none last
}

// Causes of time on a critical path.
const (
	PathWork     = "work"     // a kernel, copy or memset
	PathTransfer = "transfer" // a collective, once all ranks had come
	PathHost     = "host"     // a host thread on its way to a call
	PathLaunch   = "launch"   // from a call to the start of its work
	PathReturn   = "return"   // from the end of the work to the return of a call that waits for it
	PathDevice   = "device"   // from the end of an op to the next
	PathGap      = "gap"      // nothing explains it
)

// PathRow is time on the critical path of one rank, cause and class of kernels.
type PathRow struct {
	Rank  int     `json:"rank"`
	Cause string  `json:"cause"`
	Class string  `json:"class"` // of the kernels that it is of, or launches; "": none
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// PathRank is time on the critical path of one rank.
type PathRank struct {
	Rank  int     `json:"rank"`
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
	// Ahead is what is gained, over all steps, before another rank is the last at the
	// collectives on the path at which this one is; Next is mostly that rank, -1: none.
	Ahead int64 `json:"ahead_ns"`
	Next  int   `json:"next"`
}

// PathLayer is time on the critical path of one layer, on all ranks.
type PathLayer struct {
	Stack string  `json:"stack"` // "": in no layer
	Layer int     `json:"layer"` // -1: in none
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// WhatIf is what steps would take if something were otherwise.
type WhatIf struct {
	Format   int         `json:"format"` // 1
	Source   Source      `json:"source"`
	Settings []string    `json:"settings"`
	Replay   Replay      `json:"replay"`
	Rows     []WhatIfRow `json:"rows"` // none if it is not known

	Lengths []WhatIfLengths `json:"-"` // one for all ranks that share collectives; none if it is not known
}

// WhatIfLengths is how long steps of ranks that share collectives were, and would be; by step, 0: not compared.
type WhatIfLengths struct {
	Ranks []int // indices into Source.Ranks
	Was   []int64
	Would []int64
	Ends  []int64 // when they ended as recorded, ns on the clock of all ranks
}

// WhatIfRow is that of one kind of steps of ranks that share collectives.
type WhatIfRow struct {
	Ranks []int  `json:"ranks"` // indices into Source.Ranks
	Kind  string `json:"kind"`
	Worth
}

// sureSteps is how many steps there must be for an interval of their median (95 %).
const sureSteps = 6

// Sure tells whether there are enough steps to say what it is worth by, and nothing hides it.
func (w *Worth) Sure() bool {
	return w.Known && !w.AtMost && !w.Hidden && w.Step > 0 && w.Steps >= sureSteps
}

// Which are the steps whose lengths a finding's worth tells: those of a kind that it is about.
func (r *Report) Which(f *Finding) fact.Fact {
	if f.FirstStep < 0 {
		return fact.Of("worth_steps", "kind", r.Said(f.Worth.Kind))
	}
	return fact.Of("worth_these", "kind", r.Said(f.Worth.Kind))
}

// Gain is by how much a step is shorter: alone, or once all else is mended if that is more.
func (w *Worth) Gain() int64 { return max(w.Step-w.Without, w.Last, 0) }

// Little tells that steps may be no shorter at all, not even once all else is mended.
func (w *Worth) Little() bool {
	return w.Sure() && w.High >= w.Step && w.Last <= max(w.Step-w.Without, 0)
}

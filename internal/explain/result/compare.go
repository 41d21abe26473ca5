package result

import (
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
)

// Comparison compares capture B with capture A, the base. Its JSON form is documented in docs/formats/compare.md. Times
// are nanoseconds.
type Comparison struct {
	Format int  `json:"format"` // 1
	A      Side `json:"a"`
	B      Side `json:"b"`
	// Verdict is the answer in a sentence. Causes explain it, the most important first.
	Verdict fact.Fact `json:"verdict"`
	Causes  []Cause   `json:"causes"`
	// Unlike lists how the workloads of the captures differ. Refused: they differ too much for any conclusion.
	Unlike  []fact.Fact  `json:"unlike"`
	Refused bool         `json:"refused"`
	Steps   []StepDiff   `json:"steps"`
	Kernels []KernelDiff `json:"kernels"` // largest effect on the step first
	// Modules compares modules of one kind in all layers, if both captures have layer-wise markers; largest effect on
	// the step first.
	Modules []ModuleDiff `json:"modules"`
	// Regressions are the rows of Steps and Kernels that got significantly slower by more than the limit.
	Regressions []fact.Fact `json:"regressions"`
	Limit       float64     `json:"limit"`     // the requested share; 0: none
	Limits      []string    `json:"limits"`    // limits of single figures
	Undecided   []fact.Fact `json:"undecided"` // limits that these captures cannot decide
	Notes       []fact.Fact `json:"notes"`
	Doubts      []string    `json:"doubts"` // as in Source

	OfRanks bool `json:"-"` // A and B are ranks of one capture
}

// Said returns the name for steps of a kind in sentences: "" if no step has a known kind.
func (c *Comparison) Said(kind string) string {
	if kind == "other" && !slices.ContainsFunc(c.Steps, func(d StepDiff) bool { return d.Kind != "other" }) {
		return ""
	}
	return kind
}

// Side describes one of the captures compared.
type Side struct {
	ID     string   `json:"id"`
	Ranks  []string `json:"ranks"`
	Device string   `json:"device"`
	Steps  int      `json:"steps"`
}

// Change is the difference of two samples: one value per step, the mean over ranks. The first step of each capture is
// left out because the profilers start in it.
type Change struct {
	A      float64 `json:"a_ns"` // medians per step
	B      float64 `json:"b_ns"`
	NA     int     `json:"a_steps"`
	NB     int     `json:"b_steps"`
	Change float64 `json:"change"` // B/A − 1
	Lo     float64 `json:"lo"`     // 95 % interval of Change
	Hi     float64 `json:"hi"`
	P      float64 `json:"p"`          // Mann-Whitney, two-sided
	PAdj   float64 `json:"p_adjusted"` // over all rows of the table (Benjamini-Hochberg)
	Enough bool    `json:"enough"`     // false: too few steps for any verdict
}

// Verdicts of a row.
const (
	Slower   = "slower"
	Faster   = "faster"
	Same     = "same"      // the whole interval lies within 5 %
	NotClear = "not clear" // chance could have caused the difference, or hidden one
	Unclear  = "not enough samples"
	Appeared = "appeared"
	Vanished = "vanished"
)

// StepDiff compares one figure of the steps of one kind and batch size.
type StepDiff struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	Batch   int    `json:"batch"`  // -1: unknown
	Figure  string `json:"figure"` // step, compute, exposed_comm, wait, idle, host_gap
	Verdict string `json:"verdict"`
	Change
}

// KernelDiff compares one kernel, by normalised name and grid, in steps of one kind: its summed time per step.
type KernelDiff struct {
	Kind    string   `json:"kind"`
	Mode    string   `json:"mode"`
	Batch   int      `json:"batch"` // -1: unknown
	Name    string   `json:"name"`
	Short   string   `json:"short"`
	Was     string   `json:"was"` // its name in A, if the kernel has another name or grid there; "": the same
	Class   string   `json:"class"`
	Grid    [3]int32 `json:"grid"`
	Verdict string   `json:"verdict"`
	CountA  float64  `json:"a_count"` // per step and rank
	CountB  float64  `json:"b_count"`
	EachA   int64    `json:"a_each_ns"` // median of one run
	EachB   int64    `json:"b_each_ns"`
	// Effect is the effect of the change on a step: (B − A) over A's step time.
	Effect float64 `json:"effect"`
	Change
}

// ModuleDiff compares the modules of one kind in all layers of a stack, in steps of one kind: the summed GPU time per
// step of the work launched inside them.
type ModuleDiff struct {
	Kind    string  `json:"kind"`
	Mode    string  `json:"mode"`
	Batch   int     `json:"batch"`  // -1: unknown
	Module  string  `json:"module"` // model.layers.*.mlp.down_proj
	Verdict string  `json:"verdict"`
	Effect  float64 `json:"effect"` // as in KernelDiff
	Change
}

// Changes of a cause from A to B.
const (
	New  = "new"  // only B has it
	Gone = "gone" // only A has it
	More = "more" // both have it, and it costs more in B
	Less = "less"
)

// Kinds of causes besides those of findings.
const (
	CauseKernels = "kernels" // kernels that all ranks run longer, more often, or no longer at all
	CauseFigure  = "figure"  // a part of the steps
)

// Cause is a difference between the captures that may explain a change of their steps: a difference of their findings,
// else of their kernels, or of the parts of their steps.
type Cause struct {
	Change   string   `json:"change"`
	Kind     string   `json:"kind"`     // the finding's kind, kernels or figure
	Severity string   `json:"severity"` // of the finding; "": not a finding
	Finding  string   `json:"finding"`  // its ID in the analysis of B, or of A if it is gone; "": not a finding
	Ranks    []string `json:"rank_names"`
	First    int      `json:"first_step"` // of its capture; -1: not specific to steps
	Last     int      `json:"last_step"`
	StepKind string   `json:"step_kind"` // of the steps whose time it is known to cost; "": unknown
	A        int64    `json:"a_ns"`      // cost per step
	B        int64    `json:"b_ns"`
	// Fits: the steps changed in the same direction.
	Fits bool `json:"fits"`
	// Unseen: a capture like the other one could not have shown it.
	Unseen   bool           `json:"unseen"`
	Text     fact.Fact      `json:"text"`
	Evidence []fact.Fact    `json:"evidence"`
	CountA   float64        `json:"a_kernels"` // kernels the rank runs per step, median; 0: not compared
	CountB   float64        `json:"b_kernels"`
	Kernels  []KernelChange `json:"kernels"` // the largest change first
	Next     []fact.Fact    `json:"next"`
	Guide    string         `json:"guide"`

	Rank  string `json:"-"` // the rank whose kernels are compared with the other side; "": none
	Work  bool   `json:"-"` // it runs more or larger kernels; else the same ones take longer
	Steps []int  `json:"-"` // of the finding; none: First to Last
}

// KernelChange is how often and how long one kernel runs in a step, on each side.
type KernelChange struct {
	Name   string  `json:"name"`
	Short  string  `json:"short"`
	Class  string  `json:"class"`
	CountA float64 `json:"a_count"`
	CountB float64 `json:"b_count"`
	A      float64 `json:"a_ns"`
	B      float64 `json:"b_ns"`
}

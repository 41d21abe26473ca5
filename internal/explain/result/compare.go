package result

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
)

// Comparison compares capture B with capture A, the base. docs/formats/compare.md documents the JSON form. Times are in
// nanoseconds.
type Comparison struct {
	Format int  `json:"format"` // 1
	A      Side `json:"a"`
	B      Side `json:"b"`
	// Verdict is the answer in one sentence. Causes explain the verdict, the most important first.
	Verdict fact.Fact `json:"verdict"`
	Causes  []Cause   `json:"causes"`
	// Unlike lists the differences between the workloads of the captures. Refused means that the workloads differ too
	// much for any conclusion.
	Unlike  []fact.Fact `json:"unlike"`
	Refused bool        `json:"refused"`
	// Incomplete lists the data that the sides lack. Judged is the group of figures that can be judged without them.
	Incomplete []fact.Fact `json:"incomplete"`
	Judged     Judged      `json:"judged"`
	Steps      []StepDiff  `json:"steps"`
	// Throughput compares the time of the windows per step, which includes stalls that medians hide.
	Throughput []Throughput `json:"throughput"`
	Kernels    []KernelDiff `json:"kernels"` // the kernel with the largest effect on the step first
	// Modules compares modules of one kind in all layers, if both captures have layer-wise markers. The module with the
	// largest effect on the step is the first.
	Modules []ModuleDiff `json:"modules"`
	// Light compares steps of like kind and rows by the roles of their kernels, if the model's configuration is known.
	// LightWhy is the reason if nothing can be compared so.
	Light    []LightDiff `json:"light"`
	LightWhy fact.Fact   `json:"light_why"`
	// Regressions are the rows of Steps and Kernels that got significantly slower by more than the limit.
	Regressions []fact.Fact `json:"regressions"`
	Limit       float64     `json:"limit"`     // limit on all figures, as a share; 0: none
	Limits      []string    `json:"limits"`    // limits on individual figures
	Undecided   []fact.Fact `json:"undecided"` // limits that these captures cannot decide
	Notes       []fact.Fact `json:"notes"`
	Doubts      []string    `json:"doubts"` // doubts, as in Source

	OfRanks      bool      `json:"-"` // A and B are ranks of one capture
	LateA, LateB fact.Fact `json:"-"` // a late rank of A and of B, whose lateness is part of the difference; "": none
}

// Judged is a group of figures that a comparison judges.
type Judged int

// Groups of figures, the largest first.
const (
	JudgedAll   Judged = iota
	JudgedOwn          // all but waits for other ranks, and communication
	JudgedSteps        // median step times
	JudgedNone
)

func (j Judged) String() string { return [...]string{"all", "own", "steps", "none"}[j] }

// MarshalText returns the name of the group.
func (j Judged) MarshalText() ([]byte, error) { return []byte(j.String()), nil }

// Said returns the name that sentences use for steps of a kind. It returns "" if no step has a known kind.
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
	Engine string   `json:"engine"` // SGLang or vLLM; "": not known
	Steps  int      `json:"steps"`
}

// Change is the difference between two samples. A sample has one value per step, which is the mean over ranks. The
// first step of each capture is left out because the profilers start in it.
type Change struct {
	A      float64 `json:"a_ns"` // medians per step
	B      float64 `json:"b_ns"`
	NA     int     `json:"a_steps"`
	NB     int     `json:"b_steps"`
	Change float64 `json:"change"` // B/A − 1
	Lo     float64 `json:"lo"`     // 95 % confidence interval of Change
	Hi     float64 `json:"hi"`
	P      float64 `json:"p"`          // Mann-Whitney, two-sided
	PAdj   float64 `json:"p_adjusted"` // adjusted over all rows of the table (Benjamini-Hochberg)
	Enough bool    `json:"enough"`     // false: too few steps for any verdict
}

// Verdicts of a row.
const (
	Slower   = "slower"
	Faster   = "faster"
	Same     = "same"      // the whole confidence interval lies within ±5 %
	NotClear = "not clear" // chance could explain the observed difference, or hide a real one
	Unclear  = "not enough samples"
	Appeared = "appeared"
	Vanished = "vanished"

	NotJudged = "not judged" // the comparison has no verdict
)

// Verdict returns the verdict on a tested change with the 95 % interval lo to hi and the adjusted p-value p.
func Verdict(change, lo, hi, p float64) string {
	switch differs, same := metric.Differs(lo, hi, p); {
	case same:
		return Same
	case !differs:
		return NotClear
	case change > 0:
		return Slower
	}
	return Faster
}

// StepDiff compares one figure of the steps of one kind and batch size.
type StepDiff struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	Batch   int    `json:"batch"`  // -1: unknown
	Figure  string `json:"figure"` // step, compute, exposed_comm, wait, idle, host_gap
	Verdict string `json:"verdict"`
	Change
}

// Throughput compares the work per time of the windows, for the steps of one kind. It covers the batch sizes that both
// captures have; different mixes of batch sizes have no effect.
type Throughput struct {
	Kind    string  `json:"kind"`
	Mode    string  `json:"mode"`
	Batch   int     `json:"batch"`  // -1: unknown, or several batch sizes
	Figure  string  `json:"figure"` // time_per_step (ns) or throughput (output tokens per second)
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	NA      int     `json:"a_steps"`
	NB      int     `json:"b_steps"`
	Change  float64 `json:"change"` // B/A − 1
	Lo      float64 `json:"lo"`     // 95 % confidence interval of Change
	Hi      float64 `json:"hi"`
	Enough  bool    `json:"enough"` // false: too few steps for any verdict
	Verdict string  `json:"verdict"`
}

// KernelDiff compares the summed time per step of one kernel, identified by normalised name and grid, in steps of one
// kind.
type KernelDiff struct {
	Kind    string   `json:"kind"`
	Mode    string   `json:"mode"`
	Batch   int      `json:"batch"` // -1: unknown
	Name    string   `json:"name"`
	Short   string   `json:"short"`
	Was     string   `json:"was"` // name in A, if the kernel has another name or grid in A; "": the same
	Class   string   `json:"class"`
	Grid    [3]int32 `json:"grid"`
	Verdict string   `json:"verdict"`
	CountA  float64  `json:"a_count"` // number per step and rank
	CountB  float64  `json:"b_count"`
	EachA   int64    `json:"a_each_ns"` // median time of one run
	EachB   int64    `json:"b_each_ns"`
	// Effect is the effect of the change on a step: (B − A) divided by the step time of A.
	Effect float64 `json:"effect"`
	Change
}

// ModuleDiff compares the modules of one kind in all layers of a stack, in steps of one kind. It compares the summed
// GPU time per step of the work launched inside these modules.
type ModuleDiff struct {
	Kind    string  `json:"kind"`
	Mode    string  `json:"mode"`
	Batch   int     `json:"batch"`  // -1: unknown
	Module  string  `json:"module"` // name, such as model.layers.*.mlp.down_proj
	Verdict string  `json:"verdict"`
	Effect  float64 `json:"effect"` // as in KernelDiff
	Change
}

// Values of Cause.Change.
const (
	New  = "new"  // only B has the cause
	Gone = "gone" // only A has the cause
	More = "more" // both captures have the cause, but it costs more in B
	Less = "less"
)

// Kinds of causes, in addition to the kinds of findings.
const (
	CauseKernels = "kernels" // kernels that changed on all ranks: slower, more frequent, or gone
	CauseFigure  = "figure"  // a part of the step time
)

// Cause is a difference between the captures that may explain the change of step times. It is a difference in findings
// or, if there is none, in kernels or in parts of the step time.
type Cause struct {
	Change   string   `json:"change"`
	Kind     string   `json:"kind"`     // kind of the finding, or "kernels" or "figure"
	Severity string   `json:"severity"` // severity of the finding; "": not a finding
	Finding  string   `json:"finding"`  // ID of the finding in the analysis of B (of A if gone); "": not a finding
	Ranks    []string `json:"rank_names"`
	First    int      `json:"first_step"` // first step in the capture with the cause; -1: not specific to steps
	Last     int      `json:"last_step"`
	StepKind string   `json:"step_kind"` // kind of the steps that it is known to lengthen; "": unknown
	A        int64    `json:"a_ns"`      // cost per step in A
	B        int64    `json:"b_ns"`
	AtMost   bool     `json:"at_most"` // the cost is an upper bound of the worth
	// Fits means that the steps changed in the same direction as the cause.
	Fits bool `json:"fits"`
	// Unseen means that the other capture could not have shown the cause.
	Unseen   bool           `json:"unseen"`
	Text     fact.Fact      `json:"text"`
	Evidence []fact.Fact    `json:"evidence"`
	CountA   float64        `json:"a_kernels"` // number of kernels that the rank runs per step, median; 0: not compared
	CountB   float64        `json:"b_kernels"`
	Kernels  []KernelChange `json:"kernels"` // the largest change first
	Next     []fact.Fact    `json:"next"`
	Guide    string         `json:"guide"`

	Rank  string `json:"-"` // rank with the kernels that are compared with the other side; "": none
	Work  bool   `json:"-"` // true: the rank runs more or larger kernels; false: the same kernels take longer
	Steps []int  `json:"-"` // steps of the finding; empty: First to Last
}

// KernelChange gives, for each side, how often and how long one kernel runs in a step.
type KernelChange struct {
	Name   string  `json:"name"`
	Short  string  `json:"short"`
	Class  string  `json:"class"`
	CountA float64 `json:"a_count"`
	CountB float64 `json:"b_count"`
	A      float64 `json:"a_ns"`
	B      float64 `json:"b_ns"`
}

// Package dumps compares performance dumps of diffusion servers (api.PerfDump): the durations of whole generations, of
// their stages and of their denoising steps.
package dumps

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Side is one side of a comparison: one or more dumps of one build.
type Side struct {
	Name  string
	Dumps []*api.PerfDump
}

// Comparison compares the other sides with the first side, which is the base. docs/formats/dumps.md describes the JSON
// form.
type Comparison struct {
	Format int     `json:"format"` // 1
	Sides  []About `json:"sides"`
	E2E    Row     `json:"e2e"`
	Stages []Row   `json:"stages"`
	// Rest is the time outside all stages.
	Rest Row `json:"between_stages"`
	// Steps has one row for the first denoising step, one row for the median of the other denoising steps, and one row
	// for each of the other denoising steps.
	Steps  []Row    `json:"denoising_steps"`
	Memory []Memory `json:"memory"`
	Unlike []Unlike `json:"unlike"`
	// NotSaid lists the properties that are missing from at least one dump, so that it is unknown whether all sides
	// agree on them.
	NotSaid []string     `json:"not_said"`
	Slow    []SlowStep   `json:"slow_steps"`
	Causes  [][]Cause    `json:"causes"` // main causes of each side's change; empty for the base
	Worse   []Regression `json:"regressions"`
	// Unmeasured lists the sides whose total time, or that of the base, is 0 in all dumps.
	Unmeasured []int   `json:"unmeasured"`
	Limit      float64 `json:"limit"` // requested limit, as a share; 0: none
}

// About describes the content of a side.
type About struct {
	Name      string   `json:"name"`
	Dumps     int      `json:"dumps"`
	Models    []string `json:"models"`
	Prompts   []string `json:"prompts"`
	Sizes     []string `json:"sizes"`
	StepCount []int    `json:"step_counts"`
	Commits   []string `json:"commits"`
	Tags      []string `json:"tags"`
	Diffusers bool     `json:"diffusers"` // the server fell back to the Diffusers pipeline
}

// Row compares one time on all sides.
type Row struct {
	Name   string  `json:"name"`
	Step   int     `json:"step"`   // number of the denoising step; -1: not a step
	Values []Value `json:"values"` // one per side
}

// Value is a time on one side, and its difference from the base. For the base, only MS, N and Count are set.
type Value struct {
	MS     float64 `json:"ms"`              // median over the dumps that have this time
	N      int     `json:"n"`               // number of dumps that have this time
	Count  int     `json:"count,omitempty"` // number of steps, for the stage Loop of old dumps
	Diff   float64 `json:"diff_ms"`
	Change float64 `json:"change"` // relative to the base
	// Tested means that this side and the base have enough dumps for a test. Lo and Hi bound the 95 % confidence
	// interval of Change.
	Tested  bool    `json:"tested"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
	P       float64 `json:"p"`
	PAdj    float64 `json:"p_adjusted"`
	Status  string  `json:"status"`  // judged by SGLang's thresholds
	Verdict string  `json:"verdict"` // judged by the test or, if Tested is false, by SGLang's thresholds
}

// Neutral is the value of Status and Verdict if the change is below SGLang's thresholds. The other values are verdicts
// of package result.
const Neutral = "neutral"

// SGLang's thresholds (benchmarks/compare_perf.py).
const (
	wholePercent = 2.0   // for whole generations
	stageShare   = 0.1   // for a stage: relative change, and
	stageMS      = 120.0 // absolute change
)

// Memory is the peak allocation at a checkpoint, as the median over the dumps of a side; -1: unknown.
type Memory struct {
	Checkpoint string    `json:"checkpoint"`
	PeakMB     []float64 `json:"peak_allocated_mb"`
}

// Loop is the name of a stage that combines the denoising steps which old dumps list among the stages.
const Loop = "Denoising Loop"

// Names of the first two rows of Steps.
const (
	FirstStep  = "first"
	OtherSteps = "others, median"
)

// Compare compares the other sides with the first side. failOn is the share by which a time may increase; 0: no limit.
func Compare(sides []Side, failOn float64) *Comparison {
	c := &Comparison{
		Format: 1, Limit: failOn, Stages: []Row{}, Steps: []Row{}, Memory: []Memory{}, Unlike: []Unlike{}, NotSaid: []string{}, Slow: []SlowStep{},
		Causes: make([][]Cause, len(sides)), Worse: []Regression{}, Unmeasured: []int{},
	}
	read := make([][]*dump, len(sides))
	for i, s := range sides {
		for _, d := range s.Dumps {
			read[i] = append(read[i], newDump(d))
		}
		c.Sides = append(c.Sides, about(&s, read[i]))
	}
	c.E2E = row("E2E", -1, read, func(d *dump) (float64, bool) { return d.TotalMS, d.TotalMS > 0 }) // 0: not measured
	for _, name := range stageNames(read) {
		r := row(name, -1, read, func(d *dump) (float64, bool) { ms, ok := d.stages[name]; return ms, ok })
		for i := range r.Values {
			if name == Loop && len(read[i]) > 0 {
				r.Values[i].Count = read[i][0].loop
			}
		}
		c.Stages = append(c.Stages, r)
	}
	c.Rest = row("between stages", -1, read, (*dump).rest)
	c.steps(read)
	c.memory(sides)
	for side, v := range c.E2E.Values {
		if side > 0 && (v.N == 0 || c.E2E.Values[0].N == 0) {
			c.Unmeasured = append(c.Unmeasured, side)
		}
	}
	judge([]*Row{&c.E2E}, wholeStatus, nil)
	c.slowSteps()
	for side := range sides {
		c.Causes[side] = c.causes(side)
	}
	judge(append(pointers(c.Stages), &c.Rest), func(a, b float64) string { return limitStatus(a, b, stageShare, stageMS) }, c.causing)
	judge(pointers(c.Steps), nil, c.causing) // SGLang has no thresholds for steps
	c.proven()
	c.unlike(read)
	c.regressions()
	return c
}

// dump is a dump, and figures computed from it.
type dump struct {
	*api.PerfDump
	names  []string // names of the stages, in order
	stages map[string]float64
	loop   int       // number of steps in Loop
	steps  []float64 // denoising steps
}

// newDump adds up stages of the same name, as SGLang does. In old dumps, the stages include the denoising steps.
func newDump(d *api.PerfDump) *dump {
	out := &dump{PerfDump: d, stages: map[string]float64{}}
	var inStages []float64
	for _, s := range d.Stages {
		name := s.Name
		if oldStep(name) {
			name = Loop
			out.loop++
			inStages = append(inStages, s.MS)
		}
		if _, ok := out.stages[name]; !ok {
			out.names = append(out.names, name)
		}
		out.stages[name] += s.MS
	}
	for _, s := range d.Steps {
		out.steps = append(out.steps, s.MS)
	}
	if len(out.steps) == 0 {
		out.steps = inStages
	}
	return out
}

// oldStep reports whether a stage name names a denoising step, such as denoising_step_12.
func oldStep(name string) bool {
	digits, ok := strings.CutPrefix(name, "denoising_step_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// rest returns the time outside all stages. It returns false for dumps that list the same time twice, as stages and as
// steps.
func (d *dump) rest() (float64, bool) {
	left := d.TotalMS
	for _, name := range d.names {
		left -= d.stages[name]
	}
	return left, left >= 0 && len(d.stages) > 0
}

// stageNames returns the stage names of all sides, beginning with the names of the last side.
func stageNames(read [][]*dump) (names []string) {
	for _, side := range slices.Backward(read) {
		for _, d := range side {
			for _, n := range d.names {
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
	}
	return names
}

// row compares one time over the dumps of all sides.
func row(name string, step int, read [][]*dump, of func(*dump) (float64, bool)) Row {
	r := Row{Name: name, Step: step}
	var base []float64
	for i, side := range read {
		var v []float64
		for _, d := range side {
			if ms, ok := of(d); ok {
				v = append(v, ms)
			}
		}
		value := Value{N: len(v)}
		if len(v) > 0 {
			value.MS = metric.Median(v)
		}
		if i == 0 {
			base = v
		} else {
			value.against(r.Values[0].MS, base, v)
		}
		r.Values = append(r.Values, value)
	}
	return r
}

// against sets the difference of a value from the base.
func (v *Value) against(base float64, a, b []float64) {
	m := metric.Compare(a, b)
	v.Diff = v.MS - base
	if base != 0 {
		v.Change = v.Diff / base
	}
	v.P, v.PAdj = m.P, m.P
	if v.Tested = m.Enough && m.Relative; v.Tested {
		v.Lo, v.Hi = max(m.Lo, -1), m.Hi
	}
}

// judge sets the verdicts of the rows of one table. Rows for which causing returns true explain a proven change of the
// total time. Each of these rows is tested individually, since that change must have some cause. Some of the other rows
// would differ by chance, so the p-values of the other rows are adjusted.
func judge(rows []*Row, status func(a, b float64) string, causing func(r *Row, side int) bool) {
	var p []float64
	var tested []*Value
	for _, r := range rows {
		for side := 1; side < len(r.Values); side++ {
			if v := &r.Values[side]; v.Tested && (causing == nil || !causing(r, side)) {
				p, tested = append(p, v.P), append(tested, v)
			}
		}
	}
	for i, q := range metric.AdjustFDR(p) {
		tested[i].PAdj = q
	}
	for _, r := range rows {
		base := &r.Values[0]
		for i := range r.Values[1:] {
			v := &r.Values[1+i]
			if status != nil {
				v.Status = status(base.MS, v.MS)
			}
			v.Verdict = v.verdict(base.N)
		}
	}
}

// causing reports whether a row accounts for a large part of a proven change of the total time.
func (c *Comparison) causing(r *Row, side int) bool {
	whole := &c.E2E.Values[side]
	if !whole.Tested || whole.Verdict != result.Slower && whole.Verdict != result.Faster {
		return false
	}
	return slices.ContainsFunc(c.Causes[side], func(k Cause) bool {
		return k.Stage == r.Name || r.Step >= 0 && slices.Contains(k.Steps, r.Step)
	})
}

func (v *Value) verdict(baseN int) string {
	switch {
	case v.N == 0 && baseN == 0:
		return ""
	case baseN == 0:
		return result.Appeared
	case v.N == 0:
		return result.Vanished
	case !v.Tested:
		return v.Status
	}
	return result.Verdict(v.Change, v.Lo, v.Hi, v.PAdj)
}

// wholeStatus applies SGLang's threshold for whole generations.
func wholeStatus(a, b float64) string {
	percent := 0.0
	if a != 0 {
		percent = (b - a) / a * 100
	}
	switch {
	case percent < -wholePercent:
		return result.Faster
	case percent > wholePercent:
		return result.Slower
	}
	return Neutral
}

// limitStatus compares two times. The times differ if the change exceeds both the given share and the given number of
// ms.
func limitStatus(a, b, share, ms float64) string {
	switch {
	case b > max(a*(1+share), a+ms):
		return result.Slower
	case b < min(a*(1-share), a-ms):
		return result.Faster
	}
	return Neutral
}

func pointers(rows []Row) (out []*Row) {
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

// memory compares the memory peaks at each checkpoint that at least one side has.
func (c *Comparison) memory(sides []Side) {
	of := map[string][]float64{}
	for i, s := range sides {
		at := map[string][]float64{}
		for _, d := range s.Dumps {
			for name, m := range d.Checkpoints {
				at[name] = append(at[name], m.PeakAllocated)
			}
		}
		for name, v := range at {
			if of[name] == nil {
				of[name] = slices.Repeat([]float64{-1}, len(sides))
			}
			of[name][i] = metric.Median(v)
		}
	}
	for name, v := range of {
		c.Memory = append(c.Memory, Memory{name, v})
	}
	sorts.By(c.Memory, func(a, b Memory) int {
		return cmp.Or(cmp.Compare(slices.Max(b.PeakMB), slices.Max(a.PeakMB)), cmp.Compare(a.Checkpoint, b.Checkpoint))
	})
}

package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Comparison sets capture B against capture A, the base. Its JSON form is
// documented in docs/formats/compare.md. Times are nanoseconds.
type Comparison struct {
	Format  int          `json:"format"` // 1
	A       Side         `json:"a"`
	B       Side         `json:"b"`
	Steps   []StepDiff   `json:"steps"`
	Kernels []KernelDiff `json:"kernels"` // what changed the step most comes first
	// Modules compares modules of one kind in all layers, if both captures have
	// layer-wise markers; what changed the step most comes first.
	Modules []ModuleDiff `json:"modules"`
	// Regressions are the rows of Steps and Kernels that got slower by more
	// than the limit asked for, with statistics to show it.
	Regressions []string `json:"regressions"`
	Limit       float64  `json:"limit"` // the share asked for; 0: none
	Notes       []string `json:"notes"`
}

// Side says what was compared.
type Side struct {
	ID     string   `json:"id"`
	Ranks  []string `json:"ranks"`
	Device string   `json:"device"`
	Steps  int      `json:"steps"`
}

// Change is the difference of two samples: one value per step, the mean over
// ranks. The first step of each capture is left out, for the profilers start
// in it.
type Change struct {
	A      float64 `json:"a_ns"` // medians per step
	B      float64 `json:"b_ns"`
	NA     int     `json:"a_steps"`
	NB     int     `json:"b_steps"`
	Change float64 `json:"change"` // B/A − 1
	Lo     float64 `json:"lo"`     // 95 % interval of it
	Hi     float64 `json:"hi"`
	P      float64 `json:"p"`          // Mann-Whitney, two-sided
	PAdj   float64 `json:"p_adjusted"` // over all rows of its table (Benjamini-Hochberg)
	Enough bool    `json:"enough"`     // false: too few steps for any verdict
}

// Verdicts of a row.
const (
	Slower   = "slower"
	Faster   = "faster"
	Same     = "same"      // the whole interval lies within 5 %
	NotClear = "not clear" // chance could have made the difference, or hidden one
	Unclear  = "not enough samples"
	Appeared = "appeared"
	Vanished = "vanished"
)

// StepDiff compares one figure of the steps of one kind and batch size.
type StepDiff struct {
	Kind    string `json:"kind"`
	Mode    string `json:"mode"`
	Batch   int    `json:"batch"`  // -1: not said
	Figure  string `json:"figure"` // step, compute, exposed_comm, wait, idle, host_gap
	Verdict string `json:"verdict"`
	Change
}

// KernelDiff compares one kernel, by normalised name and grid, in steps of one
// kind: its summed time a step.
type KernelDiff struct {
	Kind    string   `json:"kind"`
	Mode    string   `json:"mode"`
	Batch   int      `json:"batch"` // -1: not said
	Name    string   `json:"name"`
	Short   string   `json:"short"`
	Class   string   `json:"class"`
	Grid    [3]int32 `json:"grid"`
	Verdict string   `json:"verdict"`
	CountA  float64  `json:"a_count"` // a step and rank
	CountB  float64  `json:"b_count"`
	EachA   int64    `json:"a_each_ns"` // median of one
	EachB   int64    `json:"b_each_ns"`
	// Effect is what its change does to a step: (B − A) over A's step time.
	Effect float64 `json:"effect"`
	Change
}

// ModuleDiff compares the modules of one kind in all layers of a stack, in steps
// of one kind: the summed GPU time a step of what was launched inside them.
type ModuleDiff struct {
	Kind    string  `json:"kind"`
	Mode    string  `json:"mode"`
	Batch   int     `json:"batch"`  // -1: not said
	Module  string  `json:"module"` // model.layers.*.mlp.down_proj
	Verdict string  `json:"verdict"`
	Effect  float64 `json:"effect"` // as a kernel's
	Change
}

// CompareOptions steer Compare.
type CompareOptions struct {
	IDA, IDB string
	// FailOn is the slowdown above which a row is a regression; 0: none is.
	FailOn float64
	// Only, if set, takes these ranks alone (labels), of A and of B.
	OnlyA, OnlyB string
	Rules        *kernel.Rules
}

const (
	significant = 0.05
	sameWithin  = 0.05
	// effectFloor is the least effect on a step for which a kernel's change
	// counts as a regression of its own.
	effectFloor = 0.005
)

// Compare sets the capture b against a. Steps are matched by kind, mode and
// batch size, kernels also by name and grid.
func Compare(a, b []*trace.Trace, opt CompareOptions) (*Comparison, error) {
	ha, err := newHalf(a, opt.IDA, opt.OnlyA, opt.Rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.IDA, err)
	}
	hb, err := newHalf(b, opt.IDB, opt.OnlyB, opt.Rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.IDB, err)
	}
	c := &Comparison{
		Format: 1, A: ha.side(), B: hb.side(), Limit: opt.FailOn,
		Steps: []StepDiff{}, Kernels: []KernelDiff{}, Modules: []ModuleDiff{}, Regressions: []string{}, Notes: []string{},
	}
	c.steps(ha, hb)
	c.kernels(ha, hb)
	c.modules(ha, hb)
	c.judge(opt.FailOn, opt.OnlyA != "" && opt.OnlyB != "" && opt.IDA == opt.IDB)
	if ha.a.report.Source.Device != hb.a.report.Source.Device {
		c.Notes = append(c.Notes, fmt.Sprintf("the devices differ: %s against %s", ha.a.report.Source.Device, hb.a.report.Source.Device))
	}
	for _, h := range []*half{ha, hb} {
		for _, r := range h.a.ranks {
			if r.cut > 0 {
				c.Notes = append(c.Notes, fmt.Sprintf("%s: the file of %s ends early, so steps from %d on are left out", h.a.report.Source.ID, r.label, r.first+len(r.steps)))
			}
		}
	}
	if len(ha.ranks) != len(hb.ranks) {
		c.Notes = append(c.Notes, fmt.Sprintf("the numbers of ranks differ: %d against %d; samples are means over ranks", len(ha.ranks), len(hb.ranks)))
	}
	if len(c.Steps) > 0 && !slices.ContainsFunc(c.Steps, func(d StepDiff) bool { return d.NA > 0 && d.NB > 0 }) {
		c.Notes = append(c.Notes, "no step kind and batch size occurs in both captures: nothing is comparable")
	}
	c.Notes = append(c.Notes, "intervals hold for the steps of these two captures; how much two captures of the same build differ, only more captures can say")
	return c, nil
}

func change(a, b []float64) Change {
	m := metric.Compare(a, b)
	return Change{A: m.MedianA, B: m.MedianB, NA: m.NA, NB: m.NB, Change: m.Change, Lo: m.Lo, Hi: m.Hi, P: m.P, Enough: m.Enough}
}

// adjust fills the adjusted p-values of the rows that have a test.
func adjust(rows []*Change) {
	var p []float64
	var at []*Change
	for _, c := range rows {
		c.PAdj = c.P
		if c.Enough && c.NA > 0 && c.NB > 0 {
			p, at = append(p, c.P), append(at, c)
		}
	}
	for i, q := range metric.AdjustFDR(p) {
		at[i].PAdj = q
	}
}

func (c *Change) verdict() string {
	switch {
	case c.NA == 0:
		return Appeared
	case c.NB == 0:
		return Vanished
	case !c.Enough:
		return Unclear
	case c.PAdj > significant || c.Lo <= 0 && c.Hi >= 0:
		if c.Lo > -sameWithin && c.Hi < sameWithin {
			return Same
		}
		return NotClear
	case c.Change > 0:
		return Slower
	}
	return Faster
}

func (c *Comparison) steps(a, b *half) {
	var all []bucket
	for _, h := range []*half{a, b} {
		for k := range h.steps {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	slices.SortFunc(all, func(x, y bucket) int {
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.mode, y.mode), cmp.Compare(x.batch, y.batch))
	})
	for _, k := range all {
		fa, fb := a.steps[k], b.steps[k]
		for f, name := range figureNames {
			d := StepDiff{Kind: k.kind, Mode: k.mode, Batch: k.batch, Figure: name}
			var sa, sb []float64
			if fa != nil {
				sa = fa[f]
			}
			if fb != nil {
				sb = fb[f]
			}
			d.Change = change(sa, sb)
			c.Steps = append(c.Steps, d)
		}
	}
	rows := make([]*Change, len(c.Steps))
	for i := range c.Steps {
		rows[i] = &c.Steps[i].Change
	}
	adjust(rows)
	for i := range c.Steps {
		c.Steps[i].Verdict = c.Steps[i].verdict()
	}
}

func (c *Comparison) kernels(a, b *half) {
	keys := map[kernelKey]bool{}
	for k := range a.kern {
		keys[k] = true
	}
	for k := range b.kern {
		keys[k] = true
	}
	for k := range keys {
		// Kernels of a kind of step that only one side has are no news beside
		// the steps themselves.
		if a.steps[k.bucket] == nil || b.steps[k.bucket] == nil {
			continue
		}
		ka, kb := a.kern[k], b.kern[k]
		d := KernelDiff{Kind: k.kind, Mode: k.mode, Batch: k.batch, Grid: k.grid}
		for _, s := range []*kernelSamples{ka, kb} {
			if s != nil {
				d.Name, d.Class = s.full, string(s.class.Group())
			}
		}
		d.Short = kernel.Short(d.Name)
		var sa, sb []float64
		if ka != nil {
			sa, d.CountA = ka.sums, float64(ka.count)/float64(a.rankSteps[k.bucket])
			d.EachA = int64(metric.MedianInPlace(ka.each))
		}
		if kb != nil {
			sb, d.CountB = kb.sums, float64(kb.count)/float64(b.rankSteps[k.bucket])
			d.EachB = int64(metric.MedianInPlace(kb.each))
		}
		d.Change = change(sa, sb)
		if total := a.total[k.bucket]; total > 0 {
			d.Effect = (orZero(d.B) - orZero(d.A)) / total
		}
		c.Kernels = append(c.Kernels, d)
	}
	slices.SortFunc(c.Kernels, func(x, y KernelDiff) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Effect), math.Abs(x.Effect)), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Batch, y.Batch), cmp.Compare(x.Name, y.Name), slices.Compare(x.Grid[:], y.Grid[:]))
	})
	rows := make([]*Change, len(c.Kernels))
	for i := range c.Kernels {
		rows[i] = &c.Kernels[i].Change
	}
	adjust(rows)
	for i := range c.Kernels {
		c.Kernels[i].Verdict = c.Kernels[i].verdict()
	}
}

// clean makes what could not be computed 0: JSON has no NaN.
func (c *Change) clean() {
	for _, f := range []*float64{&c.A, &c.B, &c.Change, &c.Lo, &c.Hi, &c.P, &c.PAdj} {
		if math.IsNaN(*f) || math.IsInf(*f, 0) {
			*f = 0
		}
	}
}

func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// judge lists what got slower by more than limit. A kernel also has to matter
// to the step. A kernel that appeared counts if it makes the step longer by
// more than limit. Ranks of one capture end their steps together, so there the
// figures of their own are judged.
func (c *Comparison) judge(limit float64, ranks bool) {
	for i := range c.Steps {
		d := &c.Steps[i]
		d.clean()
		judged := d.Figure == "step"
		if ranks {
			judged = d.Figure == "compute" || d.Figure == "host_gap"
		}
		if limit > 0 && judged && d.Verdict == Slower && d.Change.Change > limit {
			c.Regressions = append(c.Regressions, fmt.Sprintf("%s of %s steps, batch %d: %s",
				strings.ReplaceAll(d.Figure, "_", " "), d.Kind, d.Batch, metric.PercentChange(d.Change.Change)))
		}
	}
	for i := range c.Kernels {
		d := &c.Kernels[i]
		d.clean()
		if limit <= 0 {
			continue
		}
		switch {
		case d.Verdict == Slower && d.Change.Change > limit && d.Effect > effectFloor:
			c.Regressions = append(c.Regressions, fmt.Sprintf("%s in %s steps: %s", d.Short, d.Kind, metric.PercentChange(d.Change.Change)))
		case d.Verdict == Appeared && d.Effect > limit:
			c.Regressions = append(c.Regressions, fmt.Sprintf("%s in %s steps: appeared, %s of a step", d.Short, d.Kind, metric.Percent(d.Effect)))
		}
	}
}

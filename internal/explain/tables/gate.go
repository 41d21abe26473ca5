package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file applies the limits of --fail-on to a comparison.

// effectFloor is a share of the step time. A kernel's change counts as a regression only if its effect on the step
// exceeds this share.
const effectFloor = 0.005

// kinds are the kinds of steps that limits may name.
var kinds = []string{"prefill", "decode", "mixed", "denoising", "other"}

// LimitNames returns the figures that limits may name: figures of all steps, and figures of the steps of one kind.
func LimitNames() (names []string) {
	figures := append(FigureNames[:], timePerStep, tokenRate)
	names = append(names, figures...)
	for _, kind := range kinds {
		for _, f := range figures {
			names = append(names, kind+"."+f)
		}
	}
	return names
}

// judged is a row to which a limit may apply.
type judged struct {
	kind, figure, verdict string
	batch                 int
	change, lo, hi        float64
	enough                bool
}

// unjudged reports a limit that cannot be judged.
func unjudged(c *result.Comparison, l gate.Limit, why string) {
	c.Undecided = append(c.Undecided, fact.Of("limit_"+why, "limit", l.String()))
}

// judgedRows returns the rows of steps that both captures have, and the rows of throughput.
func judgedRows(c *result.Comparison) (rows []judged) {
	for i := range c.Steps {
		if d := &c.Steps[i]; d.NA > 0 && d.NB > 0 {
			rows = append(rows, judged{d.Kind, d.Figure, d.Verdict, d.Batch, d.Change.Change, d.Lo, d.Hi, d.Enough})
		}
	}
	for i := range c.Throughput {
		d := &c.Throughput[i]
		rows = append(rows, judged{d.Kind, d.Figure, d.Verdict, d.Batch, d.Change, d.Lo, d.Hi, d.Enough})
	}
	return rows
}

// apply applies a limit to a row. The row breaks the limit if the whole interval of its change lies beyond the limit.
// If only the change itself does, and the limit must be decided, the limit is undecided, unless the row is the same on
// both sides.
func (d *judged) apply(c *result.Comparison, l gate.Limit, decide bool) {
	edge := d.lo
	if l.Falls {
		edge = d.hi
	}
	batch := fact.Fact{}
	if d.batch >= 0 {
		batch = fact.Of("with_batch", "batch", d.batch)
	}
	list, said := &c.Regressions, fact.Of("worse_steps", "figure", d.figure, "kind", c.Said(d.kind), "batch", batch, "change", d.change, "low", d.lo, "high", d.hi)
	switch significant := d.verdict == result.Slower || d.verdict == result.Faster; {
	case !d.enough, d.verdict == result.NotJudged:
		return
	case significant && l.Broken(edge):
	case decide && d.verdict != result.Same && l.Broken(d.change):
		list, said = &c.Undecided, fact.Of("limit_chance", "limit", l.String(), "what", said)
	default:
		return
	}
	if !slices.ContainsFunc(*list, func(f fact.Fact) bool { return f.String() == said.String() }) {
		*list = append(*list, said)
	}
}

// hold applies a limit to the rows that the limit names. Only significant changes count.
func hold(c *result.Comparison, l gate.Limit) {
	kind, figure, found := strings.Cut(l.Name, ".")
	if !found {
		kind, figure = "", l.Name
	}
	there, enough, lost := false, false, false
	for _, d := range judgedRows(c) {
		if d.figure == figure && (kind == "" || d.kind == kind) {
			there, enough, lost = true, enough || d.enough, lost || d.verdict == result.NotJudged
			d.apply(c, l, true)
		}
	}
	switch {
	case lost, c.Judged >= result.JudgedSteps && !enough:
		unjudged(c, l, "incomplete")
	case !there:
		unjudged(c, l, "nothing")
	case !enough:
		unjudged(c, l, "few")
	}
}

// regressions lists figures that certainly got slower by more than limit. The time per step of the whole window counts
// too; if only its estimate exceeds the limit, the limit is undecided. A kernel counts only if it has a noticeable
// effect on the step time, in steps that got slower. The effect of a new kernel must exceed limit. Ranks of one capture
// end their steps together, so for such ranks the figures of each rank's own work are judged instead of the step time.
func regressions(c *result.Comparison, limit float64, ranks bool) {
	if limit <= 0 {
		return
	}
	figures := []string{"step", timePerStep}
	if ranks {
		figures = []string{"compute", "host_gap", computePerStep, hostGapPerStep}
	}
	slower := map[bucket]bool{}
	for i := range c.Steps {
		if d := &c.Steps[i]; d.Verdict == result.Slower && slices.Contains(figures, d.Figure) {
			slower[bucket{d.Kind, d.Mode, d.Batch}] = true
		}
	}
	enough := false
	for _, d := range judgedRows(c) {
		if slices.Contains(figures, d.figure) {
			enough = enough || d.enough
			d.apply(c, gate.Limit{By: limit}, strings.HasSuffix(d.figure, "_per_step"))
		}
	}
	switch l := (gate.Limit{By: limit}); {
	case c.Judged >= result.JudgedSteps:
		unjudged(c, l, "incomplete")
	case !enough:
		unjudged(c, l, "few")
	}
	for i := range c.Kernels {
		switch d := &c.Kernels[i]; {
		case !slower[bucket{d.Kind, d.Mode, d.Batch}]:
		case d.Verdict == result.Slower && d.Lo > limit && d.Effect > effectFloor:
			c.Regressions = append(c.Regressions, fact.Of("worse_kernel", "kernel", d.Short, "kind", c.Said(d.Kind), "change", d.Change.Change, "low", d.Lo))
		case d.Verdict == result.Appeared && d.Effect > limit:
			c.Regressions = append(c.Regressions, fact.Of("worse_new", "kernel", d.Short, "kind", c.Said(d.Kind), "share", d.Effect))
		}
	}
	if len(c.Regressions) > 0 {
		c.Undecided = nil // the limit is exceeded, whatever the other rows
	}
}

package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// leastEffect is the share of a step below which a change of kernels, or of a part of the step, is not a cause.
const leastEffect = 0.01

// Causes pairs the findings of two captures. A finding of only one capture may be the cause of a change. A finding of
// both captures may be a cause if its cost differs between the captures, and if the figure that the finding affects has
// certainly changed. rankA and rankB, if set, are the ranks compared. Only findings about these ranks count.
func Causes(c *result.Comparison, a, b *result.Report, rankA, rankB string) {
	if c.Refused || c.Judged >= result.JudgedSteps { // a finding of one side may be due to data that the other side lacks
		return
	}
	inA, inB := differing(a, rankA), differing(b, rankB)
	if c.Judged == result.JudgedOwn {
		waits := func(f *result.Finding) bool {
			return len(f.Ranks) > 0 || result.KindOf(f.Kind).Figure == "exposed_comm"
		}
		inA, inB = slices.DeleteFunc(inA, waits), slices.DeleteFunc(inB, waits)
	}
	var both [][2]*result.Finding
	inB = slices.DeleteFunc(inB, func(f *result.Finding) bool {
		i := slices.IndexFunc(inA, func(g *result.Finding) bool { return g != nil && about(g, rankA) == about(f, rankB) })
		if i < 0 {
			return false
		}
		both = append(both, [2]*result.Finding{inA[i], f})
		inA[i] = nil
		return true
	})
	for _, f := range inB {
		c.Causes = append(c.Causes, cause(result.New, f, b, a, c))
	}
	for _, f := range inA {
		if f != nil {
			c.Causes = append(c.Causes, cause(result.Gone, f, a, b, c))
		}
	}
	for _, p := range both {
		if x, ok := changed(p[0], p[1], a, b, c); ok {
			c.Causes = append(c.Causes, x)
		}
	}
}

// differing returns the findings of a capture that may explain a difference from another capture.
func differing(rep *result.Report, rank string) (out []*result.Finding) {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if class(f) == result.Lack || level(f.Severity) > level("medium") || rank != "" && !slices.Contains(f.Names, rank) {
			continue
		}
		out = append(out, f)
	}
	return out
}

// about returns a text that identifies the subject of a finding, without its first step.
func about(f *result.Finding, rank string) string {
	of := strings.TrimSuffix(f.ID, fmt.Sprintf("-%d", f.FirstStep))
	if rank != "" {
		of = strings.ReplaceAll(of, strings.ToLower(rank), "rank")
	}
	return of
}

// cause converts a finding that only one report has to a cause.
func cause(change string, f *result.Finding, has, lacks *result.Report, c *result.Comparison) result.Cause {
	x := result.Cause{
		Change: change, Kind: f.Kind, Severity: f.Severity, Finding: f.ID, Ranks: f.Names, First: f.FirstStep, Last: f.LastStep, StepKind: f.Worth.Kind,
		Next: f.Next, Guide: f.Guide, Steps: f.Steps, Text: says(has, f),
	}
	costs := f.CostNSPerStep
	if x.AtMost = !f.Worth.Sure(); !x.AtMost {
		costs = f.Worth.Gain()
	}
	way := 1
	if change == result.New {
		x.B = costs
	} else {
		x.A, way = costs, -1
		x.Next, x.Guide = nil, "" // a cause that B no longer has needs no action
	}
	if len(f.Names) == 1 && f.Kind == result.Straggler && (f.Cause == result.CauseWork || f.Cause == result.CauseDevice) {
		x.Rank, x.Work = f.Names[0], f.Cause == result.CauseWork
	}
	x.Evidence = evidence(f)
	// A passing finding hardly moves the median of all steps.
	x.Fits = explains(c, x.StepKind, float64(way)*float64(costs), leastFound) && !f.Worth.Little() && !(f.Passing && 2*(f.LastStep-f.FirstStep+1) < len(has.Steps))
	if !x.Fits && !f.Worth.Little() {
		kind, mean := average(has, f, costs)
		x.Fits = overall(c, kind, float64(way)*mean, leastFound)
	}
	if f.Kind == result.Straggler {
		switch least, ok := seen(lacks, f); {
		case !ok:
			x.Unseen = true
			x.Evidence = append([]fact.Fact{fact.Of("cause_unseen")}, x.Evidence...)
		case least > f.CostNSPerStep:
			x.Unseen = true
			x.Evidence = append([]fact.Fact{fact.Of("cause_below", "ns", least)}, x.Evidence...)
		}
	}
	return x
}

// evidence returns the evidence of a finding, with its worth first.
func evidence(f *result.Finding) (out []fact.Fact) {
	if f.Worth.Says.String() != "" {
		out = append(out, f.Worth.Says)
	}
	for i := range f.Evidence {
		out = append(out, f.Evidence[i].Text)
	}
	return out
}

// seen returns the smallest lateness, in ns, at which rep would show a finding like f. ok is false if rep would not
// show such a finding at any lateness.
func seen(rep *result.Report, f *result.Finding) (ns int64, ok bool) {
	for i := range rep.Chance.Seen {
		if s := &rep.Chance.Seen[i]; (f.Worth.Kind == "" || s.Kind == f.Worth.Kind) && s.Least > 0 && s.NS > 0 {
			return s.NS, true
		}
	}
	return 0, false
}

// changed returns the cause for a finding that both captures have, if its cost in B differs from its cost in A. had and
// has are the reports of A and B.
func changed(a, b *result.Finding, had, has *result.Report, c *result.Comparison) (x result.Cause, ok bool) {
	x = result.Cause{
		Change: result.More, Kind: b.Kind, Severity: b.Severity, Finding: b.ID, Ranks: b.Names, First: b.FirstStep, Last: b.LastStep, StepKind: b.Worth.Kind,
		A: a.CostNSPerStep, B: b.CostNSPerStep, AtMost: true, Next: b.Next, Guide: b.Guide, Steps: b.Steps,
	}
	figure, way := result.KindOf(x.Kind).Figure, 1
	if x.B < x.A {
		x.Change, way = result.Less, -1
	}
	for i := range c.Steps {
		d := &c.Steps[i]
		if d.Figure != figure || x.StepKind != "" && d.Kind != x.StepKind || sign(d.Verdict) != way {
			continue
		}
		if step := lasts(c, d); math.Abs(d.B-d.A) < leastEffect*step || math.Abs(float64(x.B-x.A)) < leastEffect*step {
			continue
		}
		x.Text = fact.Of("cause_changed", "what", says(has, b), "a", x.A, "b", x.B)
		x.Fits = explains(c, d.Kind, float64(x.B-x.A), leastFound)
		x.Evidence = evidence(b)
		return x, true
	}
	// Slow steps hardly change a median.
	kind, was := average(had, a, x.A)
	if of, is := average(has, b, x.B); of == kind && x.Kind == result.SlowStep && overall(c, kind, is-was, leastFound) {
		x.A, x.B = int64(was), int64(is)
		x.Text, x.Evidence, x.Fits = fact.Of("cause_changed", "what", says(has, b), "a", x.A, "b", x.B), evidence(b), true
		return x, true
	}
	return x, false
}

// average returns the kind of the steps of a finding ("": several kinds), and a cost of the finding divided by all steps
// of that kind.
func average(rep *result.Report, f *result.Finding, costs int64) (kind string, mean float64) {
	kind, n := f.Worth.Kind, 0
	if kind == "" && f.FirstStep >= 0 && f.FirstStep < len(rep.Steps) {
		kind = rep.Steps[f.FirstStep].Kind
		if slices.ContainsFunc(f.Steps, func(s int) bool { return rep.Steps[s].Kind != kind }) {
			kind = ""
		}
	}
	for i := range rep.Steps {
		if kind == "" || rep.Steps[i].Kind == kind {
			n++
		}
	}
	return kind, float64(costs) * float64(stepsIn(rep, f)) / float64(max(n, 1))
}

// lasts returns the length of the steps of a row, on the side with the longer steps.
func lasts(c *result.Comparison, d *result.StepDiff) float64 {
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Figure == "step" && s.Kind == d.Kind && s.Mode == d.Mode && s.Batch == d.Batch {
			return max(s.A, s.B)
		}
	}
	return math.Inf(1)
}

// sign returns the direction of a change according to its verdict: 1 for longer, -1 for shorter, 0 if neither is
// certain.
func sign(verdict string) int {
	switch verdict {
	case result.Slower:
		return 1
	case result.Faster:
		return -1
	}
	return 0
}

// lengths returns the rows with the lengths of steps. If the sides are ranks of one capture, which end their steps
// together, it returns the rows with compute and host gap instead.
func lengths(c *result.Comparison) (rows []*result.StepDiff) {
	for i := range c.Steps {
		if d := &c.Steps[i]; d.Figure == "step" && !c.OfRanks || c.OfRanks && (d.Figure == "compute" || d.Figure == "host_gap") {
			rows = append(rows, d)
		}
	}
	return rows
}

// Minimum share of a change that a cause must explain. leastFound applies to findings, whose worth is known for only
// some of the steps. leastPart applies to kernels and parts of steps.
const (
	leastFound = 0.3
	leastPart  = 0.5
)

// explains reports whether a change by the given amount explains the change of steps of a kind ("": any kind). Of the
// rows that have certainly changed, explains takes the row with the largest total change. The amount must have the same
// direction as that row's change. It must also be at least the share least of that change.
func explains(c *result.Comparison, kind string, by, least float64) bool {
	var moved, most float64
	for _, d := range lengths(c) {
		if of := math.Abs(d.B-d.A) * float64(min(d.NA, d.NB)); (kind == "" || d.Kind == kind) && sign(d.Verdict) != 0 && of > most {
			moved, most = d.B-d.A, of
		}
	}
	return moved != 0 && by/moved >= least
}

// overall reports whether a cost of by per step, on average over the window, accounts for at least the given part of a
// change of the time per step that medians do not show.
func overall(c *result.Comparison, kind string, by, least float64) bool {
	return slices.ContainsFunc(c.Throughput, func(t result.Throughput) bool {
		return t.Figure == "time_per_step" && (kind == "" || t.Kind == kind) && sign(t.Verdict) != 0 && by/(t.B-t.A) >= least
	})
}

// Compared adds the changes common to all ranks to the causes, sorts the causes and sets the verdict.
func Compared(c *result.Comparison) {
	if !c.Refused {
		kernels(c)
		parts(c)
	}
	sorts.Stable(c.Causes, func(x, y result.Cause) int {
		return cmp.Or(result.First(x.Fits, y.Fits), cmp.Compare(graver(&x), graver(&y)), cmp.Compare(weight(&y), weight(&x)), cmp.Compare(x.Finding, y.Finding))
	})
	for i := range c.Causes {
		result.NoNil(&c.Causes[i])
	}
	c.Verdict = compared(c)
	switch {
	case c.Refused:
	case slices.ContainsFunc(c.Light, func(d result.LightDiff) bool { return d.A != d.B }):
		c.Notes = append(c.Notes, fact.Of("role_note", "what", byRole(c)))
	case c.LightWhy.Key != "":
		c.Notes = append(c.Notes, fact.Of("role_apart", "why", c.LightWhy))
	}
}

// graver returns a sort key that orders causes by severity, with findings before other causes.
func graver(x *result.Cause) int {
	if x.Finding == "" {
		return len(levels)
	}
	return level(x.Severity)
}

func weight(x *result.Cause) float64 { return math.Abs(float64(x.B - x.A)) }

// kernels adds one cause per kind of steps for kernels that changed on all ranks, including kernels that appeared or
// disappeared.
func kernels(c *result.Comparison) {
	named := map[string]bool{}
	for i := range c.Causes {
		for _, k := range c.Causes[i].Kernels {
			named[k.Name] = true
		}
	}
	for _, s := range lengths(c) {
		x := result.Cause{Kind: result.CauseKernels, First: -1, Last: -1, StepKind: s.Kind}
		var sum, a, b float64
		effects := map[string]float64{}
		for i := range c.Kernels {
			d := &c.Kernels[i]
			if d.Kind != s.Kind || d.Mode != s.Mode || d.Batch != s.Batch || named[d.Name] || math.Abs(d.Effect) < leastEffect {
				continue
			}
			if sign(d.Verdict) == 0 && d.Verdict != result.Appeared && d.Verdict != result.Vanished {
				continue
			}
			// A kernel with a changed grid is listed both as vanished and as appeared.
			at := slices.IndexFunc(x.Kernels, func(k result.KernelChange) bool { return k.Name == d.Name })
			if at < 0 {
				at = len(x.Kernels)
				x.Kernels = append(x.Kernels, result.KernelChange{Name: d.Name, Short: d.Short, Class: d.Class})
			}
			k := &x.Kernels[at]
			k.CountA, k.CountB, k.A, k.B = k.CountA+d.CountA, k.CountB+d.CountB, k.A+d.A, k.B+d.B
			effects[d.Name] += d.Effect
		}
		x.Kernels = slices.DeleteFunc(x.Kernels, func(k result.KernelChange) bool { return math.Abs(effects[k.Name]) < leastEffect })
		for _, k := range x.Kernels {
			sum, a, b = sum+k.B-k.A, a+k.A, b+k.B
		}
		if len(x.Kernels) == 0 || s.Figure == "host_gap" {
			continue
		}
		x.Change = result.More
		if sum < 0 {
			x.Change = result.Less
		}
		x.A, x.B, x.Fits = int64(a), int64(b), sign(s.Verdict) != 0 && sum/(s.B-s.A) >= leastPart
		x.Text = fact.Of("cause_kernels", "kind", c.Said(s.Kind), "batch", batch(s), "a", a, "b", b)
		c.Causes = append(c.Causes, x)
	}
}

// partGuides lists the parts of steps that may be causes, with the guide for each. kernels takes precedence over
// compute because kernels are more specific.
var partGuides = map[string]string{
	"compute": result.KindOf(result.SlowSince).Guide, "exposed_comm": result.KindOf(result.CommBound).Guide, "host_gap": result.KindOf(result.HostBound).Guide,
}

// parts adds the parts of steps that certainly changed, unless findings or kernels explain the change.
func parts(c *result.Comparison) {
	for _, s := range lengths(c) {
		if sign(s.Verdict) == 0 || s.Figure != "step" || slices.ContainsFunc(c.Causes, func(x result.Cause) bool { return x.Fits && (x.StepKind == "" || x.StepKind == s.Kind) }) {
			continue
		}
		for i := range c.Steps {
			d := &c.Steps[i]
			if d.Kind != s.Kind || d.Mode != s.Mode || d.Batch != s.Batch || sign(d.Verdict) != sign(s.Verdict) || math.Abs(d.B-d.A) < leastEffect*max(s.A, s.B) {
				continue
			}
			guide, part := partGuides[d.Figure]
			if !part || d.Figure == "compute" && slices.ContainsFunc(c.Causes, func(x result.Cause) bool { return x.Kind == result.CauseKernels && x.StepKind == s.Kind }) {
				continue
			}
			x := result.Cause{Change: result.More, Kind: result.CauseFigure, First: -1, Last: -1, StepKind: s.Kind, A: int64(d.A), B: int64(d.B), Fits: (d.B-d.A)/(s.B-s.A) >= leastPart}
			if d.B > d.A {
				x.Guide = guide
			}
			if d.B < d.A {
				x.Change = result.Less
			}
			x.Text = fact.Of("cause_"+d.Figure, "kind", c.Said(s.Kind), "batch", batch(s), "a", d.A, "b", d.B)
			c.Causes = append(c.Causes, x)
		}
	}
}

// batch formats the number of requests in a step, if known.
func batch(d *result.StepDiff) fact.Fact {
	if d.Batch < 0 {
		return fact.Fact{}
	}
	return fact.Of("at_batch", "batch", d.Batch)
}

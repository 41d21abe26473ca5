package answer

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file writes the verdict of a comparison.

// mostSteps is the maximum number of kinds of steps in the verdict.
const mostSteps = 2

// compared returns the verdict of a comparison, with the data that are missing.
func compared(c *result.Comparison) fact.Fact {
	switch {
	case c.Refused && len(c.Light) > 0:
		return byRole(c)
	case c.Refused && c.LightWhy.Key != "":
		return fact.Of("compared_refused_roles", "role", c.LightWhy, "why", c.Unlike[0])
	case c.Refused:
		return fact.Of("compared_refused", "why", c.Unlike[0])
	case c.Judged == result.JudgedNone:
		return fact.Of("compared_none", "why", lacking(c))
	case c.Judged != result.JudgedAll:
		return fact.Of("compared_lacks."+c.Judged.String(), "what", changes(c), "why", lacking(c))
	}
	return changes(c)
}

// lacking names the sides that lack data, with the first reason for each.
func lacking(c *result.Comparison) (sides []fact.Fact) {
	for _, side := range []string{"A", "B"} {
		if i := slices.IndexFunc(c.Incomplete, func(f fact.Fact) bool { return f.Get("side") == side }); i >= 0 {
			sides = append(sides, fact.Of("compared_lacking", "side", side, "why", c.Incomplete[i].Get("why")))
		}
	}
	return sides
}

// changes describes the changes of step times, and the cause of the largest change.
func changes(c *result.Comparison) fact.Fact {
	var sure, rest []*result.StepDiff
	identical := true
	for _, d := range lengths(c) {
		switch {
		case sign(d.Verdict) != 0:
			sure = append(sure, d)
		case d.NA > 0 && d.NB > 0:
			rest = append(rest, d)
		}
	}
	for i := range c.Steps {
		d := &c.Steps[i]
		identical = identical && d.A == d.B && d.NA == d.NB && d.Verdict != result.NotJudged
	}
	sorts.Stable(sure, func(x, y *result.StepDiff) int {
		of := func(d *result.StepDiff) float64 { return math.Abs(d.B-d.A) * float64(min(d.NA, d.NB)) }
		return cmp.Compare(of(y), of(x))
	})
	var says []fact.Fact
	for i, d := range sure {
		if i == mostSteps {
			says = append(says, fact.Of("compared_others", "n", len(sure)-mostSteps))
			break
		}
		says = append(says, fact.Of("compared_"+d.Figure, "kind", c.Said(d.Kind), "batch", batch(d), "a", d.A, "b", d.B, "change", d.Change.Change, "p", d.PAdj))
	}
	for i := range c.Throughput {
		if t := &c.Throughput[i]; sign(t.Verdict) != 0 && t.Figure == "time_per_step" && !slices.ContainsFunc(sure, func(d *result.StepDiff) bool {
			return d.Kind == t.Kind && d.Mode == t.Mode && sign(d.Verdict) == sign(t.Verdict)
		}) {
			says = append(says, overWindow(c, t))
		}
	}
	steps := fact.Of("compared_steps", "steps", says)
	switch {
	case len(says) > 0:
	case identical:
		steps = fact.Of("compared_identical")
	default:
		steps = unsure(c, rest)
	}
	why := fact.Fact{}
	for i := range c.Causes {
		x := &c.Causes[i]
		if x.Fits && x.Unseen {
			why = fact.Of("compared_besides_"+x.Change, "what", reason(x), "kernels", named(x))
			break
		}
		if x.Fits {
			why = because(x)
			break
		}
	}
	switch {
	case why.Key != "":
	case len(says) > 0 && c.Judged < result.JudgedSteps:
		why = fact.Of("compared_unexplained")
	case len(c.Causes) > 0:
		x := &c.Causes[0]
		why = fact.Of("compared_besides_"+x.Change, "what", reason(x), "kernels", named(x))
	}
	return fact.Of("comparison", "steps", steps, "why", why)
}

// reason returns the sentence of a cause for the verdict.
func reason(x *result.Cause) fact.Fact { return bare(x.Text) }

// bare removes the predicted step times from a sentence. They refer to other steps than the medians of the verdict, and
// the evidence contains them.
func bare(f fact.Fact) fact.Fact {
	if what, ok := f.Get("what").(fact.Fact); ok {
		f = f.With("what", bare(what))
	}
	if effect, _ := f.Get("effect").(fact.Fact); effect.Key == "verdict_worth" {
		f = f.With("effect", fact.Fact{})
	}
	if f.Key == "verdict_bound" {
		f = fact.Of("verdict_one", "what", f.Get("what"), "doubt", f.Get("doubt"))
	}
	return f
}

// because returns the reason for a change. If a rank runs more kernels than in A, or fewer, because returns only the
// difference in the number of kernels.
func because(x *result.Cause) fact.Fact {
	if more := math.Round(x.CountB - x.CountA); x.Rank != "" && x.Work && x.CountA > 0 && x.CountB > 0 && len(x.Kernels) > 0 {
		switch {
		case x.Change == result.New && more > 0:
			return fact.Of("compared_more_kernels", "rank", x.Rank, "n", more)
		case x.Change == result.Gone && more < 0:
			return fact.Of("compared_fewer_kernels", "rank", x.Rank, "n", -more)
		}
	}
	return fact.Of("compared_why_"+x.Change, "what", reason(x), "kernels", named(x))
}

// unsure describes steps without a certain change by the most frequent verdict.
func unsure(c *result.Comparison, rows []*result.StepDiff) fact.Fact {
	var tested []*result.StepDiff
	for _, d := range rows {
		if d.Enough {
			tested = append(tested, d)
		}
	}
	if len(tested) == 0 {
		return fact.Of("compared_few")
	}
	for i := range c.Throughput {
		if t := &c.Throughput[i]; t.Enough && t.Verdict != result.NotJudged && t.Figure == "time_per_step" && math.Abs(t.Change) > metric.SameWithin && slices.ContainsFunc(tested, func(d *result.StepDiff) bool {
			return d.Kind == t.Kind && d.Mode == t.Mode && math.Abs(d.Change.Change) <= metric.SameWithin
		}) {
			return fact.Of("unsure_time", "what", overWindow(c, t))
		}
	}
	d := slices.MaxFunc(tested, func(x, y *result.StepDiff) int { return cmp.Compare(x.A*float64(x.NA), y.A*float64(y.NA)) })
	how := "same"
	if slices.ContainsFunc(tested, func(d *result.StepDiff) bool { return d.Verdict != result.Same }) {
		how = "unclear"
	}
	return fact.Of("unsure_"+how, "kind", c.Said(d.Kind), "batch", batch(d), "change", d.Change.Change, "low", d.Lo, "high", d.Hi)
}

// overWindow describes the time of the window per step, beside the median step if there is only one batch size.
func overWindow(c *result.Comparison, t *result.Throughput) fact.Fact {
	at, median := result.StepDiff{Batch: t.Batch}, fact.Fact{}
	for _, d := range lengths(c) {
		if d.Kind == t.Kind && d.Mode == t.Mode && d.Batch == t.Batch {
			median = fact.Of("compared_median", "change", d.Change.Change)
		}
	}
	return fact.Of("compared_time", "kind", c.Said(t.Kind), "batch", batch(&at), "a", t.A, "b", t.B, "change", t.Change, "low", t.Lo, "high", t.Hi, "median", median)
}

// named lists the kernels of a cause in a few words.
func named(x *result.Cause) fact.Fact {
	var names []string
	for i := range x.Kernels {
		if i == 2 {
			break
		}
		names = append(names, x.Kernels[i].Short)
	}
	switch {
	case len(names) == 0:
		return fact.Fact{}
	case x.Rank == "":
		return fact.Of("kernels_named", "names", names)
	case math.Round(x.CountA) == math.Round(x.CountB):
		return fact.Of("kernels_longer", "names", names)
	case x.CountB < x.CountA:
		return fact.Of("kernels_fewer", "n", x.CountA-x.CountB, "a", x.CountA, "b", x.CountB, "names", names)
	}
	return fact.Of("kernels_more", "n", x.CountB-x.CountA, "a", x.CountA, "b", x.CountB, "names", names)
}

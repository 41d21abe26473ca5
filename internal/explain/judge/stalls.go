package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Slow steps become a finding of medium or high severity if their excess is at least such a share of the time of all
// steps of their kind. A few slow steps do not change the median step.
const (
	stallMedium = 0.2
	stallHigh   = 0.5
	// stallSteps is the minimum number of steps of the kind for such a finding. Among fewer steps, one slow step takes a
	// large share, so the share must be stallHigh.
	stallSteps = 8
)

// stalls joins slow steps of one kind in which the same part grew and the same rank is to blame, if their excess is a
// large share of the time of all steps of the kind.
func (c *capture) stalls(slow []result.Finding) (out []result.Finding) {
	groups := map[string][]result.Finding{}
	var order []string
	for _, f := range slow {
		why, _ := f.Title.Get("why").(fact.Fact)
		if why.Key == "slow_cold" { // the finding about the cold start weighs it
			out = append(out, f)
			continue
		}
		part, _ := why.Get("what").(fact.Fact)
		key := id(c.KindOf[f.FirstStep], part.String(), f.Ranks, f.Cause)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], f)
	}
	for _, key := range order {
		out = append(out, c.stall(groups[key])...)
	}
	return out
}

// stall weighs slow steps by the share of time that they take, and joins them if they take a large share.
func (c *capture) stall(slow []result.Finding) []result.Finding {
	worst := slices.MaxFunc(slow, func(x, y result.Finding) int { return cmp.Compare(x.CostNSPerStep, y.CostNSPerStep) })
	kind := c.KindOf[worst.FirstStep]
	var all, excess float64
	var lengths, usual, costs []int64
	of := 0
	for i := range c.rep.Steps {
		if s := &c.rep.Steps[i]; s.Step > 0 && len(s.Ranks) > 0 && c.KindOf[s.Step] == kind {
			all, of = all+took(c.Aligned, s), of+1
		}
	}
	one := result.Finding{Kind: result.SlowStep, Passing: true, Ranks: worst.Ranks, Cause: worst.Cause, At: c.place(&worst)}
	for _, f := range slow {
		ns := int64(took(c.Aligned, &c.rep.Steps[f.FirstStep]))
		lengths, usual, costs = append(lengths, ns), append(usual, ns-f.CostNSPerStep), append(costs, f.CostNSPerStep)
		excess += float64(f.CostNSPerStep)
		e := proof("ns", float64(ns), float64(ns-f.CostNSPerStep), f.Title)
		e.Step = f.FirstStep
		one.Steps, one.Evidence = append(one.Steps, f.FirstStep), append(one.Evidence, e)
	}
	share := excess / all
	if share < stallMedium || of < stallSteps && share < stallHigh || len(slow) == 1 && len(worst.Ranks) > 0 { // one step proves little about a rank
		return slow
	}
	severity := "medium"
	if share >= stallHigh {
		severity = "high"
	}
	said := c.rep.Said(kind.String())
	if len(slow) == 1 {
		worst.Severity = severity
		worst.Title = worst.Title.With("share", fact.Of("slow_share", "share", share, "kind", said))
		return []result.Finding{worst}
	}
	one.Severity, one.CostNSPerStep = severity, int64(metric.MedianInPlace(costs))
	one.FirstStep, one.LastStep = one.Steps[0], one.Steps[len(one.Steps)-1]
	one.ID = id(result.SlowStep, one.FirstStep)
	one.Title = fact.Of("slow_steps", "n", len(slow), "of", of, "kind", said, "steps", one.Steps,
		"took", int64(metric.MedianInPlace(lengths)), "usual", int64(metric.MedianInPlace(usual)),
		"share", fact.Of("slow_share", "share", share, "kind", said), "why", worst.Title.Get("why"), "blame", worst.Title.Get("blame"))
	return []result.Finding{one}
}

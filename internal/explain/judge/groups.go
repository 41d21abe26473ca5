package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// shareGroups joins findings of several groups of ranks into one if they blame ranks for the same cause in the same
// steps, and the ranks are about equally late. Data-parallel groups wait for no ranks of each other, so all these ranks
// need the same fix.
func (c *capture) shareGroups(found []result.Finding) (out []result.Finding) {
	taken := make([]bool, len(found))
	for i := range found {
		if taken[i] {
			continue
		}
		f := &found[i]
		same := []*result.Finding{f}
		for j := i + 1; j < len(found); j++ {
			if o := &found[j]; !taken[j] && alikeInGroups(f, o) && !slices.ContainsFunc(same, func(x *result.Finding) bool { return c.domainOf(x.Ranks[0]) == c.domainOf(o.Ranks[0]) }) {
				same, taken[j] = append(same, o), true
			}
		}
		if len(same) > 1 {
			f = c.ofGroups(same)
		}
		out = append(out, *f)
	}
	return out
}

// alikeInGroups reports whether two findings may be one finding of several groups.
func alikeInGroups(f, o *result.Finding) bool {
	late := func(f *result.Finding) bool {
		return (f.Title.Key == "straggler" || f.Title.Key == "several") && !f.Starved && !f.Still && f.Cause != result.CauseUnknown
	}
	return late(f) && late(o) && o.Cause == f.Cause && o.Reason == f.Reason && o.Passing == f.Passing && o.Plain == f.Plain &&
		(o.P > 0) == (f.P > 0) && together(f, o) && 2*min(o.CostNSPerStep, f.CostNSPerStep) >= max(o.CostNSPerStep, f.CostNSPerStep)
}

// ofGroups returns one finding for the same finding of several groups.
func (c *capture) ofGroups(same []*result.Finding) *result.Finding {
	one := *slices.MinFunc(same, func(x, y *result.Finding) int { return x.FirstStep - y.FirstStep })
	d := c.domainOf(one.Ranks[0])
	why := one.Title.Get("why")
	if one.Title.Key == "straggler" {
		why = d.theyAre(&one, []int{d.at(one.Ranks[0])})
		one.Evidence = ofRank(&one, c.Ranks[one.Ranks[0]].Label)
	}
	var costs []int64
	one.Ranks = nil
	for _, f := range same {
		one.Ranks, costs = append(one.Ranks, f.Ranks...), append(costs, f.CostNSPerStep)
		one.P = max(one.P, f.P)
		if slices.Index(severities, f.Severity) < slices.Index(severities, one.Severity) {
			one.Severity = f.Severity
		}
	}
	slices.Sort(one.Ranks)
	var names []string
	for _, r := range one.Ranks {
		names = append(names, c.Ranks[r].Label)
	}
	one.CostNSPerStep = int64(metric.MedianInPlace(costs))
	one.ID = id(result.Straggler, names[0], "and", len(names)-1, one.Cause, one.FirstStep)
	one.Title = fact.Of("several", "n", len(names), "of", len(c.Ranks), "ranks", names, "when", one.Title.Get("when"), "why", why,
		"cost", fact.Of("groups_cost", "cost", one.CostNSPerStep))
	return &one
}

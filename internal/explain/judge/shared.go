package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file joins findings that blame several ranks.

// shareLinks joins findings that blame ranks for leaving collectives late in the same steps. The last rank to arrive
// already has the data of all others, and leaves while its own data is still on the way to them. The other ranks are
// therefore late to the next collective, and so on in turns. The cause is the latency of the links. Ranks that are late
// in only a few of these steps are not included, so that they do not take the blame from a rank that is late in all.
func shareLinks(d *Domain, all []result.Finding) []result.Finding {
	var longest *result.Finding
	for i := range all {
		if f := &all[i]; f.Cause == result.CauseCommunication && (longest == nil || f.LastStep-f.FirstStep > longest.LastStep-longest.FirstStep) {
			longest = f
		}
	}
	if longest == nil {
		return all
	}
	first, last := longest.FirstStep, longest.LastStep
	both := func(f *result.Finding) int { return max(0, min(f.LastStep, last)-max(f.FirstStep, first)+1) }
	steps := map[int]int{} // per rank, number of these steps in which it is late
	for i := range all {
		if f := &all[i]; f.Cause == result.CauseCommunication {
			steps[f.Ranks[0]] += both(f)
		}
	}
	one, rest, names := d.share(all, func(f result.Finding) bool {
		return f.Cause == result.CauseCommunication && 2*both(&f) > f.LastStep-f.FirstStep+1 && 2*steps[f.Ranks[0]] > last-first+1
	})
	if one == nil {
		return all
	}
	one.Kind, one.Cause, one.Severity = result.CommBound, result.CauseCommunication, "medium"
	one.ID = id("comm_latency", d.Ranks[0].Label, one.FirstStep)
	one.Title = fact.Of("comm_latency", "ranks", names, "cost", one.CostNSPerStep)
	return append(rest, *one)
}

// share joins the findings for which alike returns true, if they blame more than half of the ranks, and returns the
// names of these ranks. one is nil if these findings blame half of the ranks or fewer.
func (d *Domain) share(all []result.Finding, alike func(result.Finding) bool) (one *result.Finding, rest []result.Finding, names []string) {
	if one, rest, names = d.join(all, alike); 2*len(one.Ranks) <= len(d.Ranks) || len(one.Ranks) < 2 {
		return nil, nil, nil
	}
	return one, rest, names
}

// join joins the findings for which alike returns true, and returns the names of the ranks that they blame.
func (d *Domain) join(all []result.Finding, alike func(result.Finding) bool) (one *result.Finding, rest []result.Finding, names []string) {
	one = &result.Finding{Passing: true}
	var costs []int64
	for _, f := range all {
		if !alike(f) {
			rest = append(rest, f)
			continue
		}
		if len(costs) == 0 {
			one.FirstStep, one.LastStep = f.FirstStep, f.LastStep
		}
		one.FirstStep, one.LastStep = min(one.FirstStep, f.FirstStep), max(one.LastStep, f.LastStep)
		one.Passing = one.Passing && f.Passing
		if !slices.Contains(one.Ranks, f.Ranks[0]) {
			one.Ranks = append(one.Ranks, f.Ranks[0])
		}
		costs = append(costs, f.CostNSPerStep)
		one.Evidence = append(one.Evidence, proof("ns", float64(f.CostNSPerStep), 0, f.Title))
		one.Evidence[len(one.Evidence)-1].Step = f.FirstStep
	}
	slices.Sort(one.Ranks)
	one.CostNSPerStep = int64(metric.MedianInPlace(costs))
	for _, r := range d.Ranks {
		if slices.Contains(one.Ranks, r.Index) {
			names = append(names, r.Label)
		}
	}
	return one, rest, names
}

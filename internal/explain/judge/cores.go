package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// lackCores replaces the findings that software devices wait for a core by one finding about the machine, because
// chance decides which rank has to wait. The new finding absorbs findings that blame hosts or devices, because the
// threads of these ranks lack cores, too. It absorbs only findings that cost at most twice as much as the new finding.
// lackCores changes nothing unless all ranks are on one host.
func lackCores(c *capture, found []result.Finding) []result.Finding {
	for _, r := range c.Ranks {
		if r.Source.Host != c.Ranks[0].Source.Host {
			return found
		}
	}
	var one result.Finding
	var costs []int64
	var names []string
	for _, f := range found {
		if !f.Starved {
			continue
		}
		if costs == nil {
			one = result.Finding{
				Kind: result.Straggler, Cause: result.CauseHost, Severity: "low", Passing: true, Starved: true,
				FirstStep: f.FirstStep, LastStep: f.LastStep,
			}
		}
		one.FirstStep, one.LastStep = min(one.FirstStep, f.FirstStep), max(one.LastStep, f.LastStep)
		costs = append(costs, f.CostNSPerStep)
		for _, r := range f.Ranks {
			names = append(names, c.Ranks[r].Label)
		}
	}
	if costs == nil {
		return found
	}
	slices.Sort(names)
	one.CostNSPerStep = int64(metric.MedianInPlace(costs))
	one.ID = id("cores", one.FirstStep)
	one.Title = fact.Of("cores", "ranks", slices.Compact(names), "cost", one.CostNSPerStep)
	found = slices.DeleteFunc(found, func(f result.Finding) bool {
		return f.Starved || (f.Cause == result.CauseHost || f.Cause == result.CauseDevice) && f.CostNSPerStep <= 2*slices.Max(costs)
	})
	return append(found, one)
}

// starved reports whether software devices waited for a core in most of the time attributed to late hosts.
func (c *capture) starved() bool {
	all := timeOf(c.rep, "all")
	var waited int64
	for _, r := range c.Ranks {
		for _, x := range r.NoCore {
			waited += x.End - x.Start
		}
	}
	return all != nil && 2*waited > all.IdleBy.Host
}

package judge

import (
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// The common cost of steps of a kind is a median over them, so that a single step a hundred times as long as the others
// has no influence.

// stepTime is the breakdown of one step, summed over its ranks that made a step of the requested kind.
type stepTime struct {
	result.Time
	ranks, launches int
	unpaired        int64 // see unpairedIn
}

// mean returns the mean over the step's ranks of a summed time, in ns.
func (t *stepTime) mean(ns int64) float64 { return float64(ns) / float64(t.ranks) }

// due returns the step's time without that between steps, when no step was due.
func (t *stepTime) due() int64 { return t.Total - t.IdleBy.Between }

// stepTimes returns all steps of a kind that have work on a device; "all": of any kind.
func (c *capture) stepTimes(kind string) (out []stepTime) {
	unpaired := unpairedIn(c)
	for i := range c.rep.Steps {
		s := &c.rep.Steps[i]
		var t stepTime
		for j := range s.Ranks {
			p := &s.Ranks[j]
			r := c.Ranks[p.Rank]
			if kind == "all" || r.Steps[s.Step-r.First].Info.Kind.String() == kind {
				t.Add(&p.Time)
				t.ranks++
				t.launches += p.Launches
				t.unpaired += unpaired[rankStep{p.Rank, s.Step}]
			}
		}
		if t.Total > 0 {
			out = append(out, t)
		}
	}
	return out
}

// usual returns the median of a figure over steps.
func usual(steps []stepTime, of func(t *stepTime) float64) float64 {
	all := make([]float64, len(steps))
	for i := range steps {
		all[i] = of(&steps[i])
	}
	return metric.MedianInPlace(all)
}

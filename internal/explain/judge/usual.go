package judge

import (
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// The common cost of steps of a kind is computed as a median over these steps, so that a single step that takes a
// hundred times as long as the others has no influence.

// stepTime is the breakdown of one step, summed over the ranks for which the step is of the requested kind.
type stepTime struct {
	result.Time
	ranks, launches int
	unpaired        int64 // see unpairedIn
}

// mean converts a time summed over the step's ranks to the mean over these ranks, in ns.
func (t *stepTime) mean(ns int64) float64 { return float64(ns) / float64(t.ranks) }

// due returns the time of the step, less the time between steps in which no step was due.
func (t *stepTime) due() int64 { return t.Total - t.IdleBy.Between }

// stepTimes returns the steps of a kind ("all": of any kind) that have work on a device.
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

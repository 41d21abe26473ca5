package dumps

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// SlowStep is a denoising step that took much longer than the other steps of one side. The same step was not slow on
// the side with which this side is compared.
type SlowStep struct {
	Side   int     `json:"side"`
	Step   int     `json:"step"`
	MS     float64 `json:"ms"`
	Others float64 `json:"others_ms"` // median of the steps after the first
}

// A step is slow if there are at least leastOthers other steps and if its time is far above the median of these other
// steps. The time must exceed standsOut times the median. The excess over the median must be more than scatters times
// the spread of the other steps. The excess must also be at least the share costs of the total time.
const (
	standsOut   = 1.5
	leastOthers = 3
	scatters    = 5
	costs       = 0.02
)

// Cause is a stage that accounts for a large part of a side's change, and that no test attributes to chance.
type Cause struct {
	Stage string  `json:"stage"` // name; "between stages": the time outside all stages
	Diff  float64 `json:"diff_ms"`
	// Steps are the denoising steps that account for most of the difference. If empty, the difference is spread over
	// all steps, or lies outside the steps.
	Steps []int `json:"steps"`
}

// Minimum shares. A stage is a cause if it accounts for causeShare of the change of the total time. Steps are named if
// they account for stepsShare of the change of their stage.
const (
	causeShare = 0.2
	stepsShare = 0.5
)

// steps adds the rows of the denoising steps.
func (c *Comparison) steps(read [][]*dump) {
	most := 0
	for _, side := range read {
		for _, d := range side {
			most = max(most, len(d.steps))
		}
	}
	for i := range most {
		name := fmt.Sprintf("step %d", i)
		switch i {
		case 0:
			name = FirstStep
		case 1:
			c.Steps = append(c.Steps, row(OtherSteps, -1, read, func(d *dump) (float64, bool) {
				if len(d.steps) < 2 {
					return 0, false
				}
				return metric.Median(d.steps[1:]), true
			}))
		}
		c.Steps = append(c.Steps, row(name, i, read, func(d *dump) (float64, bool) {
			if i >= len(d.steps) {
				return 0, false
			}
			return d.steps[i], true
		}))
	}
}

// slowSteps finds the steps that are slow on one side. For other sides than the base, the step must not be slow on the
// base; for the base, it must not be slow on any other side.
func (c *Comparison) slowSteps() {
	for side := range c.Sides {
		others, spread, ok := c.others(side)
		if !ok {
			continue
		}
		for _, r := range c.Steps {
			v := r.Values[side]
			over := v.MS - others
			if r.Step < 1 || v.N == 0 || v.MS <= standsOut*others || over <= scatters*spread || over < costs*c.E2E.Values[side].MS ||
				c.everywhere(&r, side, v.MS/others) {
				continue
			}
			c.Slow = append(c.Slow, SlowStep{side, r.Step, v.MS, others})
		}
	}
}

// others returns the median of a side's steps after the first, and the spread of these steps (median absolute
// deviation).
func (c *Comparison) others(side int) (median, spread float64, ok bool) {
	var v []float64
	for _, r := range c.Steps {
		if r.Step > 0 && r.Values[side].N > 0 {
			v = append(v, r.Values[side].MS)
		}
	}
	if len(v) < leastOthers {
		return 0, 0, false
	}
	median = metric.Median(v)
	return median, metric.MAD(v), median > 0
}

// everywhere reports whether the step is, or may be, as slow on a side with which the given side is compared. Such a
// step is slow by the nature of the model or by chance.
func (c *Comparison) everywhere(r *Row, side int, factor float64) bool {
	for other := range c.Sides {
		if other == side || side > 0 && other > 0 {
			continue
		}
		if pair := &r.Values[max(side, other)]; pair.Tested && pair.P > metric.Significant {
			return true
		}
		if others, _, ok := c.others(other); ok && r.Values[other].MS/others*standsOut > factor {
			return true
		}
	}
	return false
}

// causes returns the stages that account for large parts of a side's change, the largest first.
func (c *Comparison) causes(side int) []Cause {
	whole := c.E2E.Values[side].Diff
	out := []Cause{}
	if slices.Contains(c.Unmeasured, side) {
		return out
	}
	for _, r := range slices.Concat(c.Stages, []Row{c.Rest}) {
		diff := r.Values[side].Diff
		if whole != 0 && diff/whole >= causeShare {
			out = append(out, Cause{Stage: r.Name, Diff: diff, Steps: c.stepsOf(&r, side)})
		}
	}
	sorts.Stable(out, func(a, b Cause) int { return cmp.Compare(math.Abs(b.Diff), math.Abs(a.Diff)) })
	return out
}

// proven removes causes that a test attributes to chance.
func (c *Comparison) proven() {
	for side := range c.Causes {
		c.Causes[side] = slices.DeleteFunc(c.Causes[side], func(k Cause) bool {
			return slices.ContainsFunc(append(pointers(c.Stages), &c.Rest), func(r *Row) bool {
				v := &r.Values[side]
				return r.Name == k.Stage && v.Tested && (v.Verdict == result.NotClear || v.Verdict == result.Same)
			})
		})
	}
}

// stepsOf returns the denoising steps that account for most of the change of their stage. Only the first step and slow
// steps are considered.
func (c *Comparison) stepsOf(stage *Row, side int) []int {
	out := []int{}
	if stage.Name != Loop && !strings.Contains(stage.Name, "Denois") {
		return out
	}
	sum, diff := 0.0, stage.Values[side].Diff
	for _, r := range c.Steps {
		v := r.Values[side]
		special := r.Step == 0 || slices.ContainsFunc(c.Slow, func(s SlowStep) bool { return s.Step == r.Step && (s.Side == side || s.Side == 0) })
		if r.Step < 0 || !special || v.N == 0 || r.Values[0].N == 0 || v.Diff*diff <= 0 {
			continue
		}
		if v.Diff/diff >= stepsShare/4 {
			out, sum = append(out, r.Step), sum+v.Diff
		}
	}
	if sum/diff < stepsShare {
		return []int{}
	}
	return out
}

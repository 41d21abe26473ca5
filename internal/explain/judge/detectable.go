package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file computes the smallest lateness that a capture can show, on the assumption that one rank is late to one
// collective of each step. The other ranks wait only if this rank arrives after them. The capture shows the lateness if
// the steps in which the wait exceeds the limit outnumber the other steps by enough to exclude chance.

// detectable returns, for each kind of steps of a domain, the smallest lateness that would have been found whichever
// rank had been late.
func (d *Domain) detectable(a *match.Aligned) (out []result.Seen) {
	if len(d.Ranks) < 2 {
		return nil
	}
	needs := d.needs(a)
	begin, end := d.Common()
	for _, kind := range a.Kinds {
		var steps []int
		for n := max(begin, 1); n < end; n++ { // the profilers start in the first step
			if a.KindOf[n].String() == kind {
				steps = append(steps, n)
			}
		}
		if len(steps) <= leastSteps {
			continue
		}
		seen := result.Seen{Kind: kind, Steps: len(steps), Least: d.leastTold(len(steps))}
		least := max(seen.Least, stayingSteps)
		late := min((len(steps)+least+1)/2, len(steps)) // number of late steps, which outnumber the others by least
		var periods []int64
		for _, n := range steps {
			periods = append(periods, a.StepPeriod(n))
		}
		known := true
		for i, r := range d.Ranks {
			seen.Ranks = append(seen.Ranks, r.Index)
			var of []int64
			for _, n := range steps {
				if ns := needs[i][n]; ns > 0 {
					of = append(of, ns)
				}
			}
			if known = known && len(of) >= late; known {
				slices.Sort(of)
				seen.NS = max(seen.NS, of[late-1])
			}
		}
		if known {
			seen.Share = float64(seen.NS) / max(metric.MedianInPlace(periods), 1)
			out = append(out, seen)
		}
	}
	return out
}

// leastTold returns the minimum number of late steps that excludes chance. The argument steps is the number of all
// steps. It returns 0 if even lateness in all steps would not exclude chance.
func (d *Domain) leastTold(steps int) int {
	blocks := 2
	for !tellable(len(d.Ranks), 1, blocks) {
		blocks++
	}
	if least := blocks * blockLength(steps); least <= steps {
		return least
	}
	return 0
}

// needs returns, by rank and step, the delay in ns that would make the other ranks wait longer than the limit. The rank
// would have to arrive at a usual collective of the step that much later than in the recording. 0: unknown.
func (d *Domain) needs(a *match.Aligned) [][]int64 {
	by := make([]map[int][]int64, len(d.Ranks))
	for i := range by {
		by[i] = map[int][]int64{}
	}
	for k := range d.Matches {
		m := &d.Matches[k]
		// In a small group, only a few ranks wait. All other ranks wait soon afterwards, in a collective of a larger
		// group.
		if m.First || !m.Possible() || len(m.At) < len(d.Ranks) {
			continue
		}
		var sum int64
		for _, p := range m.At {
			sum += p.Start
		}
		for _, p := range m.At {
			early := (sum-p.Start)/int64(len(m.At)-1) - p.Start
			by[p.Rank][m.Step] = append(by[p.Rank][m.Step], max(early, 0))
		}
	}
	out := make([][]int64, len(d.Ranks))
	for i := range out {
		out[i] = make([]int64, a.Steps)
		for n, early := range by[i] {
			floor, share := float64(lateFloor), lateShare
			if d.Ranks[i].NoCore != nil {
				floor, share = softDevice, 1.0/softShare
			}
			// The other ranks wait only if this rank arrives after them. The limit is a share of the step, and the
			// lateness also lengthens the step.
			usual := metric.MedianInPlace(early)
			out[i][n] = int64(max(floor+usual, (share*float64(a.StepPeriod(n))+usual)/(1-share))) + 1
		}
	}
	return out
}

// seen states the detectable lateness for the most frequent kind of steps. If several groups of ranks have steps of
// that kind, it uses the group with the largest threshold.
func (c *capture) seen() {
	o := &c.rep.Chance
	var shown *result.Seen
	for _, d := range c.blames {
		o.Seen = append(o.Seen, d.detectable(c.Aligned)...)
	}
	for i := range o.Seen {
		if s := &o.Seen[i]; shown == nil || s.Steps > shown.Steps || s.Steps == shown.Steps && s.NS > shown.NS {
			shown = s
		}
	}
	if shown == nil {
		return
	}
	least := fact.Of("seen_untold")
	if shown.Least > 0 {
		least = fact.Of("seen_least", "n", shown.Least)
	}
	o.Says = fact.Of("seen", "ns", shown.NS, "share", shown.Share, "kind", c.rep.Said(shown.Kind), "n", shown.Steps, "least", least)
}

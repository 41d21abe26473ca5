package timeline

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// Step is a step, combined over all ranks that have it.
type Step struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Start int64  `json:"start_ns"` // earliest start over ranks; Start and End are 0 if no rank has the step
	End   int64  `json:"end_ns"`   // latest start of the next step over ranks
	Slow  bool   `json:"slow"`
}

// Replica is a group of ranks that step together, but independently of all other ranks.
type Replica struct {
	Name  string `json:"name"`
	Ranks []int  `json:"ranks"`
	Steps []Step `json:"steps"` // steps in the capture's numbering, up to the group's last step
}

// steps returns the steps of all ranks.
func (t *Timeline) steps() []Step {
	out := []Step{}
	for i := range t.report.Steps {
		s := &t.report.Steps[i]
		step := Step{Kind: s.Kind, Name: columns.Clean(s.Name), Slow: s.Slow}
		for k, r := range s.Ranks {
			if k == 0 {
				step.Start = r.Start
			}
			step.Start, step.End = min(step.Start, r.Start), max(step.End, r.Start+r.Period)
		}
		out = append(out, step)
	}
	return out
}

// replicas returns the groups of ranks that step independently of each other, or nil if all ranks step together. Steps
// with the same number in two groups are unrelated.
func (t *Timeline) replicas() []Replica {
	groups := t.a.Replicas()
	if len(groups) < 2 {
		return []Replica{}
	}
	having := map[int]int{}
	for _, r := range t.ranks {
		having[r.Source.Rank.DP]++
	}
	out := make([]Replica, len(groups))
	for g, ranks := range groups {
		r := &out[g]
		r.Ranks, r.Name, r.Steps = ranks, t.nameOf(ranks, having), []Step{}
		for _, i := range ranks {
			t.addSteps(r, t.ranks[i].Rank)
		}
	}
	return out
}

// nameOf returns the name of a replica. The name is the data-parallel rank of the replica's ranks, if no rank of
// another replica has the same data-parallel rank. Otherwise the name is the list of the replica's ranks.
// having gives the number of ranks of each data-parallel rank.
func (t *Timeline) nameOf(ranks []int, having map[int]int) string {
	first, last := t.ranks[ranks[0]], t.ranks[ranks[len(ranks)-1]]
	dp := first.Source.Rank.DP
	whole := dp >= 0
	for _, i := range ranks {
		whole = whole && t.ranks[i].Source.Rank.DP == dp
	}
	whole = whole && len(ranks) == having[dp]
	switch {
	case whole:
		return fmt.Sprintf("DP%02d", dp)
	case len(ranks) == 1:
		return columns.Clean(first.Label)
	}
	return columns.Clean(first.Label + "–" + last.Label)
}

// addSteps adds the steps of a rank to its replica.
func (t *Timeline) addSteps(to *Replica, r *match.Rank) {
	for i := range r.Steps {
		s, n := &r.Steps[i], i+r.First
		for len(to.Steps) <= n {
			to.Steps = append(to.Steps, Step{})
		}
		step, start := &to.Steps[n], t.wall(t.ranks[r.Index], s.Start)
		if step.End == 0 {
			*step = Step{Kind: s.Info.Kind.String(), Name: columns.Clean(s.Name), Start: start}
		}
		step.Start, step.End = min(step.Start, start), max(step.End, start+r.Period(i))
	}
}

package match

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Replicas groups the ranks that step together, as indices in a.Ranks. Step n of one group is unrelated to step n of
// another. The stages of a pipeline share no collectives but form one group.
func (a *Aligned) Replicas() (groups [][]int) {
	for _, d := range a.Domains {
		var ranks []int
		for _, r := range d.Ranks {
			ranks = append(ranks, r.Index)
		}
		at := slices.IndexFunc(groups, func(g []int) bool { return a.stages(g, ranks) })
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], ranks...)
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	sorts.By(groups, func(a, b []int) int { return a[0] - b[0] })
	return groups
}

// stages reports whether two sets of ranks are different stages of one pipeline.
func (a *Aligned) stages(these, those []int) bool {
	for _, i := range these {
		for _, k := range those {
			x, y := &a.Ranks[i].Source, &a.Ranks[k].Source
			if x.Rank.PP == y.Rank.PP || x.Rank.DP != y.Rank.DP || x.Stage != y.Stage {
				return false
			}
		}
	}
	return true
}

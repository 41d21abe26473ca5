package judge

import (
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// stageRules find stages of a diffusion pipeline that take one rank's device longer than the others'. Without a
// collective afterwards, as where every rank decodes the picture, nobody waits and no rank is late at any.
var stageRules = []rule{{[]string{"slow_stage"}, slowStages}}

const (
	stageFactor = 1.5  // times the others' median
	stageShare  = 0.05 // of the total time of the rank's stages
)

func slowStages(c *capture) (out []result.Finding) {
	of := map[string][]*result.StageRow{} // by stage: ranks with recorded GPU work
	for i := range c.rep.Stages {
		if row := &c.rep.Stages[i]; !c.Ranks[row.Rank].AsGoodAsMissing() {
			of[row.Stage] = append(of[row.Stage], row)
		}
	}
	for i := range c.rep.Stages {
		row := &c.rep.Stages[i]
		var others []int64
		for _, o := range of[row.Stage] {
			if o != row {
				others = append(others, o.Busy-o.Wait)
			}
		}
		if len(others) == 0 {
			continue
		}
		// Where other ranks do nothing, as when one rank decodes for all, there is nothing to compare.
		mine, like := row.Busy-row.Wait, int64(metric.MedianInPlace(others))
		if like <= 0 || float64(mine) <= stageFactor*float64(like) || float64(mine-like)*row.Share <= stageShare*float64(row.Host) {
			continue
		}
		name := c.Ranks[row.Rank].Label
		f := whole("slow_stage", "medium", id("slow_stage", name, row.Stage),
			fact.Of("slow_stage", "rank", name, "stage", row.Stage, "more", mine-like),
			proof("ns", float64(mine), float64(like), fact.Of("stage_work", "mine", mine, "like", like)))
		f.Ranks = []int{row.Rank}
		out = append(out, f)
	}
	return out
}

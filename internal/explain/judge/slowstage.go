package judge

import (
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// stageRules find stages of a diffusion pipeline that take longer on the device of one rank than on other ranks. If no
// collective follows such a stage, as when every rank decodes the picture, no rank waits, and the rules for late ranks
// find nothing.
var stageRules = []rule{{[]string{result.SlowStage}, slowStages}}

const (
	stageFactor = 1.5  // multiple of the median of the other ranks
	stageShare  = 0.05 // minimum excess, as a share of the total time of the rank's stages
)

func slowStages(c *capture) (out []result.Finding) {
	of := map[string][]*result.StageRow{} // rows of the ranks with recorded GPU work, by stage
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
		// If the other ranks do nothing, as when one rank decodes for all, this rank cannot be compared.
		mine, like := row.Busy-row.Wait, int64(metric.MedianInPlace(others))
		if like <= 0 || float64(mine) <= stageFactor*float64(like) || float64(mine-like)*row.Share <= stageShare*float64(row.Host) {
			continue
		}
		name := c.Ranks[row.Rank].Label
		f := whole(result.SlowStage, "", id(result.SlowStage, name, row.Stage),
			fact.Of("slow_stage", "rank", name, "stage", row.Stage, "more", mine-like),
			proof("ns", float64(mine), float64(like), fact.Of("stage_work", "mine", mine, "like", like)))
		f.Ranks = []int{row.Rank}
		out = append(out, f)
	}
	return out
}

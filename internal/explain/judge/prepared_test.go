package judge

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// prepared returns the matched ranks of hand-made traces, each on its own device.
func prepared(ts ...*trace.Trace) *match.Aligned {
	var ranks []*prep.Rank
	for i, t := range ts {
		t.Source.Rank.TP = i
		t.Source.Path = fmt.Sprintf("rank%d", i)
		for k := range t.Tracks {
			if t.Tracks[k].GPU {
				t.Tracks[k].Device = int32(i)
			}
		}
		ranks = append(ranks, prep.Trace(t, nil))
	}
	n := prep.Join(ranks)
	return match.Align(ranks, n, nil)
}

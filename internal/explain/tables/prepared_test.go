package tables

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// prepared returns the matched ranks of hand-made traces.
func prepared(ts ...*trace.Trace) *match.Aligned {
	var ranks []*prep.Rank
	for i, t := range ts {
		t.Source.Rank.TP = i
		t.Source.Path = fmt.Sprintf("rank%d", i)
		ranks = append(ranks, prep.Trace(t, nil))
	}
	n := prep.Join(ranks)
	return match.Align(ranks, n, nil)
}

package judge

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// prepared gives the ranks of hand-made traces, matched.
func prepared(ts ...*trace.Trace) *match.Aligned {
	n := prep.NewNames(kernel.Default())
	var ranks []*prep.Rank
	var hosts []*prep.Host
	for i, t := range ts {
		t.Source.Rank.TP = i
		t.Source.Path = fmt.Sprintf("rank%d", i)
		ranks, hosts = append(ranks, prep.Trace(i, t, n)), append(hosts, prep.NewHost(t))
	}
	prep.Label(ranks)
	return match.Align(ranks, hosts, n, nil)
}

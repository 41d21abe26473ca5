package explain

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// joined gives the ranks of hand-made traces, matched.
func joined(ts ...*trace.Trace) *aligned {
	n := newNames(kernel.Default())
	var ranks []*rank
	var hosts []*host
	for i, t := range ts {
		t.Source.Rank.TP = i
		t.Source.Path = fmt.Sprintf("rank%d", i)
		ranks, hosts = append(ranks, prepare(i, t, n)), append(hosts, newHost(t))
	}
	label(ranks)
	return align(ranks, hosts, n, nil)
}

package timeline

import (
	"fmt"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// stepping returns ranks that each run steps of 100 µs, the k-th starting 40 µs after the previous one.
func stepping(ranks ...trace.Rank) (ts []*trace.Trace) {
	for k, at := range ranks {
		y := toytrace.New()
		y.T.Source.Rank, y.T.Source.Path = at, fmt.Sprint(k)
		for n := range int64(4) {
			from := int64(k)*40_000 + n*100_000
			y.Step(from, from+90_000).Run("k", from+1000, from+2000, from+80_000, 1)
		}
		ts = append(ts, y.Done())
	}
	return ts
}

// TestReplicas: ranks without common collectives have steps of their own; the stages of a pipeline do not.
func TestReplicas(t *testing.T) {
	at := func(tp, dp, pp int) trace.Rank { return trace.Rank{TP: tp, DP: dp, PP: pp, EP: -1} }
	for _, c := range []struct {
		name  string
		ranks []trace.Rank
		want  string
	}{
		{"two replicas", []trace.Rank{at(0, 0, -1), at(0, 1, -1)}, "DP00 [0] 0-100000 300000-390000, DP01 [1] 40000-140000 340000-430000, "},
		{"with stages", []trace.Rank{at(0, 0, 0), at(0, 0, 1), at(0, 1, 0), at(0, 1, 1)}, "DP00 [0 1] 0-140000 300000-430000, DP01 [2 3] 80000-220000 380000-510000, "},
		{"a pipeline", []trace.Rank{at(0, -1, 0), at(0, -1, 1)}, ""},
		{"a rank", []trace.Rank{at(0, -1, -1)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			head, got := of(t, stepping(c.ranks...)).Head(), ""
			for _, r := range head.Replicas {
				first, last := r.Steps[0], r.Steps[len(r.Steps)-1]
				got += fmt.Sprintf("%s %v %d-%d %d-%d, ", r.Name, r.Ranks, first.Start, first.End, last.Start, last.End)
				if len(r.Steps) != 4 || first.Kind != "decode" || first.Name != "step[DECODE bs=1]" {
					t.Errorf("steps: %+v", r.Steps)
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if r := open(t, "graphs").Head().Replicas; len(r) != 0 {
		t.Errorf("ranks with common collectives: %+v", r)
	}
}

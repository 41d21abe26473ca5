package set

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// TestWithoutWork: a rank lacks GPU work only compared with other ranks of its replica and stage.
func TestWithoutWork(t *testing.T) {
	rank := func(tp, dp int) trace.Rank { return trace.Rank{TP: tp, DP: dp, PP: -1, EP: -1} }
	idle := func(r trace.Rank, stage string) Work { return Work{Path: "idle", Rank: r, Stage: stage} }
	busy := func(r trace.Rank, stage string) Work { return Work{Path: "busy", Rank: r, Stage: stage, GPU: true} }
	for _, c := range []struct {
		name  string
		ranks []Work
		want  bool
	}{
		{"all ranks work", []Work{busy(rank(0, -1), ""), busy(rank(1, -1), "")}, false},
		{"one rank does not", []Work{busy(rank(0, -1), ""), idle(rank(1, -1), "")}, true},
		{"no rank does", []Work{idle(rank(0, -1), ""), idle(rank(1, -1), "")}, false},
		{"another replica works", []Work{busy(rank(0, 0), ""), idle(rank(0, 1), "")}, false},
		{"a rank is idle in one stage", []Work{busy(rank(0, -1), "DECODE"), idle(rank(0, -1), "EXTEND")}, false},
		{"all ranks are idle in one stage", []Work{busy(rank(0, -1), "DECODE"), busy(rank(1, -1), "DECODE"), idle(rank(0, -1), "EXTEND"), idle(rank(1, -1), "EXTEND")}, false},
		{"one rank is idle in a stage", []Work{busy(rank(0, -1), "EXTEND"), idle(rank(1, -1), "EXTEND")}, true},
		{"two files of one rank", []Work{busy(rank(0, -1), ""), idle(rank(0, -1), "")}, false},
		{"files without a rank", []Work{busy(trace.NoRank, ""), idle(trace.NoRank, "")}, false},
	} {
		notes := WithoutWork(c.ranks)
		if got := slices.ContainsFunc(notes, func(n trace.Note) bool { return n.Kind == trace.NoteNoWork && n.Source == "idle" }); got != c.want || len(notes) > 1 {
			t.Errorf("%s: %v, want a note: %t", c.name, notes, c.want)
		}
	}
}

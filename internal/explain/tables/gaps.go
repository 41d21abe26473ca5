package tables

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Gaps describes the longest gaps: the ops before and after each gap, and the host's activity during it.
func Gaps(a *match.Aligned, pauses Pauses) (out []result.Gap) {
	type of struct {
		rank int
		*prep.Gap
	}
	var all []of
	for i, r := range a.Ranks {
		for k := range r.Host.Gaps {
			all = append(all, of{i, &r.Host.Gaps[k]})
		}
	}
	sorts.Stable(all, func(x, y of) int { return cmp.Compare(y.Dur, x.Dur) })
	for _, g := range all[:min(len(all), prep.KeptGaps)] {
		r := a.Ranks[g.rank]
		after := &r.Ops[g.After]
		_, cause := idleOf(r, g.From, after, &pauses[g.rank])
		row := result.Gap{
			Rank: r.Index, Step: -1, Start: r.Wall(g.From) - a.Origin, Dur: g.Dur, Cause: cause,
			Before: a.Names.List[r.Ops[g.Before].Name], After: a.Names.List[after.Name],
		}
		if n := r.Ops[g.Before].Step; n >= 0 {
			row.Step = int(n) + r.First
		}
		switch {
		case starved(r, g.From, after.Start):
			row.Host = fact.Of("did_no_core")
		case after.Call < 0 || cause == "device":
		case cause == "launch":
			row.Host = fact.Name(g.Call)
		default:
			row.Host = g.Did.Fact(a.Marks)
		}
		out = append(out, row)
	}
	return out
}

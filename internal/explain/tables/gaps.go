package tables

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// keptGaps is how many of the longest idle gaps a report lists.
const keptGaps = 30

// Gap is a gap whose ops are not yet spelled out.
type Gap struct {
	rank   *match.Rank
	from   int64
	dur    int64
	before int32 // op that ended last
	after  *prep.Op
	cause  string
}

// Longest are the longest gaps, longest first.
type Longest []Gap

func (l *Longest) add(g Gap) {
	if len(*l) == keptGaps && (*l)[len(*l)-1].dur >= g.dur {
		return
	}
	at, _ := slices.BinarySearchFunc(*l, g.dur, func(x Gap, d int64) int { return cmp.Compare(d, x.dur) })
	*l = slices.Insert(*l, at, g)
	*l = (*l)[:min(len(*l), keptGaps)]
}

// Gaps says of each gap between what it was, and what the host did.
func Gaps(a *match.Aligned, gaps Longest) (out []result.Gap) {
	for _, g := range gaps {
		r := g.rank
		row := result.Gap{
			Rank: r.Index, Step: -1, Start: r.Wall(g.from) - a.Origin, Dur: g.dur, Cause: g.cause,
			Before: a.Names.List[r.Ops[g.before].Name], After: a.Names.List[g.after.Name],
		}
		if n := r.Ops[g.before].Step; n >= 0 {
			row.Step = int(n) + r.First
		}
		if g.after.Call >= 0 && g.cause != "device" {
			c := &r.Calls[g.after.Call]
			if g.cause == "launch" {
				row.Host = fact.Name(r.Host.CallName(c))
			} else {
				row.Host = r.Host.Did(c, g.from, max(g.from, min(c.Start, g.after.Start)))
			}
		}
		out = append(out, row)
	}
	return out
}

package explain

import (
	"cmp"
	"slices"
)

// keptGaps is how many of the longest idle gaps a report lists.
const keptGaps = 30

// openGap is a gap whose ops are not yet spelled out.
type openGap struct {
	rank   *rank
	from   int64
	dur    int64
	before int32 // op that ended last
	after  *op
	cause  string
}

// gap keeps the longest gaps, longest first.
func (a *analyzer) gap(r *rank, from int64, after *op, before int32, cause string) {
	g := openGap{r, from, after.start - from, before, after, cause}
	if len(a.gaps) == keptGaps && a.gaps[len(a.gaps)-1].dur >= g.dur {
		return
	}
	at, _ := slices.BinarySearchFunc(a.gaps, g.dur, func(x openGap, d int64) int { return cmp.Compare(d, x.dur) })
	a.gaps = slices.Insert(a.gaps, at, g)
	a.gaps = a.gaps[:min(len(a.gaps), keptGaps)]
}

// spellGaps writes the kept gaps into the report, with what the host did.
func (a *analyzer) spellGaps() {
	for _, g := range a.gaps {
		r := g.rank
		out := Gap{
			Rank: r.index, Step: -1, Start: r.wall(g.from) - a.origin, Dur: g.dur, Cause: g.cause,
			Before: a.names.list[r.ops[g.before].name], After: a.names.list[g.after.name],
		}
		if n := r.ops[g.before].step; n >= 0 {
			out.Step = int(n) + r.first
		}
		if g.after.call >= 0 && g.cause != "device" {
			c := &r.calls[g.after.call]
			if g.cause == "launch" {
				out.Host = r.t.Strings.Get(r.t.Spans[c.span].Name)
			} else {
				out.Host = r.hostDid(c, g.from, max(g.from, min(c.start, g.after.start)))
			}
		}
		a.report.Gaps = append(a.report.Gaps, out)
	}
}

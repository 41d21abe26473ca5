package explain

import (
	"cmp"
	"slices"
)

// keptGaps is how many of the longest idle gaps a report lists.
const keptGaps = 30

// openGap is a gap whose ops are not yet spelled out.
type openGap struct {
	rank   *ranked
	from   int64
	dur    int64
	before int32 // op that ended last
	after  *op
	cause  string
}

// longest are the longest gaps, longest first.
type longest []openGap

func (l *longest) add(g openGap) {
	if len(*l) == keptGaps && (*l)[len(*l)-1].dur >= g.dur {
		return
	}
	at, _ := slices.BinarySearchFunc(*l, g.dur, func(x openGap, d int64) int { return cmp.Compare(d, x.dur) })
	*l = slices.Insert(*l, at, g)
	*l = (*l)[:min(len(*l), keptGaps)]
}

// spellGaps says of each gap between what it was, and what the host did.
func spellGaps(a *aligned, gaps longest) (out []Gap) {
	for _, g := range gaps {
		r := g.rank
		row := Gap{
			Rank: r.index, Step: -1, Start: r.wall(g.from) - a.origin, Dur: g.dur, Cause: g.cause,
			Before: a.names.list[r.ops[g.before].name], After: a.names.list[g.after.name],
		}
		if n := r.ops[g.before].step; n >= 0 {
			row.Step = int(n) + r.first
		}
		if g.after.call >= 0 && g.cause != "device" {
			c := &r.calls[g.after.call]
			if g.cause == "launch" {
				row.Host = r.host.callName(c)
			} else {
				row.Host = r.host.did(c, g.from, max(g.from, min(c.start, g.after.start)))
			}
		}
		out = append(out, row)
	}
	return out
}

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// balanceTable returns the table that shows how evenly attention and experts are distributed over the ranks.
func balanceTable(r *result.Report, limit int) *table {
	rows, omitted := cut(r.Balance, limit, " rows")
	t := &table{
		id: "balance", title: "Balance", omitted: omitted,
		lead: "Attention time over data-parallel ranks, and time of the experts' matrix products over expert-parallel ranks: mean over slowest, between two collectives of all of them. Lost: excess of the slowest over the mean.",
		cols: []column{
			{name: "work"}, {name: "kind"}, {name: "steps", right: true, drop: 5}, {name: "ranks", right: true, drop: 4, help: "groups of ranks that share the work"},
			{name: "balance", right: true, help: "mean over slowest, the median step; 100 %: even"},
			{name: "lost per step", right: true}, {name: "of a step", right: true, drop: 2},
			{name: "always the same", right: true, help: "share of the loss caused by ranks that are always the slowest in a layer: due to placement, not to changes from step to step"},
			{name: "mostly slowest", help: "the rank that causes most of the loss, and its share", drop: 1},
			{name: "worst layer", help: "layer with the largest loss", drop: 3},
		},
	}
	for i := range rows {
		b := &rows[i]
		most, same, layer := cell{text: dash}, cell{text: dash, num: -1}, cell{text: dash}
		if len(b.Parts) > 0 && b.Lost > 0 {
			p := slices.MaxFunc(b.Parts, func(x, y result.BalancePart) int { return cmp.Compare(x.Share, y.Share) })
			if len(p.Ranks) > 0 {
				most = textCell(rankName(r, p.Ranks[0]) + " (" + share(p.Share) + ")")
			}
		}
		if b.Halves && b.Lost > 0 {
			same = shareCell(b.Same)
		}
		if len(b.Layers) > 1 && b.Lost > 0 {
			worst := slices.MaxFunc(b.Layers, func(x, y result.BalanceLayer) int { return cmp.Compare(x.Lost, y.Lost) })
			layer = textCell(fmt.Sprint(cmp.Or(worst.Stack, "number"), " ", worst.Layer))
		}
		t.rows = append(t.rows, []cell{
			textCell(b.Work), textCell(b.Kind), countCell(b.Steps), countCell(len(b.Parts)), shareCell(b.Ratio), durCell(b.Lost),
			shareCell(ratio(b.Lost, b.Period)), same, most, layer,
		})
	}
	return t
}

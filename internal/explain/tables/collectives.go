package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Collectives sums up collectives: matched ones, and those with no partner on
// other ranks.
func Collectives(a *match.Aligned) (out []result.CollectiveRow) {
	type key struct {
		op, group, kind string
		size            int
		bytes           int64
	}
	rows := map[key]*result.CollectiveRow{}
	transfers := map[key][]int64{}
	row := func(k key) *result.CollectiveRow {
		c := rows[k]
		if c == nil {
			c = &result.CollectiveRow{Op: k.op, Group: k.group, Size: k.size, Kind: k.kind, Bytes: k.bytes}
			rows[k] = c
		}
		return c
	}
	for _, d := range a.Domains {
		for i := range d.Matches {
			m := &d.Matches[i]
			first := d.Ranks[m.At[0].Rank]
			k := key{m.Op, groupName(d, m), a.KindOf[m.Step].String(), len(m.At), first.Colls[first.Ops[m.At[0].Op].Coll].Bytes}
			c := row(k)
			c.Count++
			if m.InGraph {
				c.InGraphs++
			}
			if !m.Possible() {
				continue
			}
			c.Matched++
			shortest := m.At[0].End - m.At[0].Start
			for _, p := range m.At {
				c.Wait += p.Wait
				c.Transfer += p.End - p.Start - p.Wait
				shortest = min(shortest, p.End-p.Start)
			}
			transfers[k] = append(transfers[k], shortest)
		}
	}
	for _, r := range a.Ranks {
		for i := range r.Ops {
			o := &r.Ops[i]
			if !o.Comm() || r.Match[i] >= 0 {
				continue
			}
			of := &r.Colls[o.Coll]
			c := row(key{of.Op, r.Label + " alone", prep.KindName(r.KindAt(o.Step)), max(1, of.Size), of.Bytes})
			c.Count++
			if r.InGraph(o) {
				c.InGraphs++
			}
			c.Transfer += o.End - o.Start
		}
	}
	for k, c := range rows {
		if t := transfers[k]; len(t) > 0 {
			c.Median = int64(metric.Median(t))
			if k.bytes > 0 && c.Median > 0 {
				c.AlgGBs = float64(k.bytes) / float64(c.Median)
				c.BusGBs = c.AlgGBs * kernel.BusFactor(k.op, k.size)
			}
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(x, y result.CollectiveRow) int {
		return cmp.Or(cmp.Compare(y.Wait+y.Transfer, x.Wait+x.Transfer), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Bytes, y.Bytes))
	})
	return out
}

// groupName is how people call the ranks of a collective.
func groupName(d *match.Domain, m *match.Match) string {
	if len(m.At) == len(d.Ranks) && len(m.At) > 4 {
		return fmt.Sprintf("all %d ranks", len(m.At))
	}
	names := make([]string, len(m.At))
	for i, p := range m.At {
		names[i] = d.Ranks[p.Rank].Label
	}
	return strings.Join(names, ", ")
}

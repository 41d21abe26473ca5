package tables

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Collectives sums up collectives: matched ones, and those without a counterpart on other ranks.
func Collectives(a *match.Aligned) (out []result.CollectiveRow) {
	type key struct {
		op, group, alone, kind string // group: names of its ranks; "": all ranks, or see alone
		size                   int
		bytes                  int64
	}
	rows := map[key]*result.CollectiveRow{}
	transfers := map[key][]int64{}
	row := func(k key) *result.CollectiveRow {
		c := rows[k]
		if c == nil {
			c = &result.CollectiveRow{Op: k.op, Group: fact.Name(k.group), Size: k.size, Kind: k.kind, Bytes: k.bytes}
			switch {
			case k.alone != "" && k.size == 1:
				c.Group = fact.Of("group_alone", "rank", k.alone)
			case k.alone != "":
				c.Group = fact.Of("group_untold", "rank", k.alone)
			case k.group == "":
				c.Group = fact.Of("group_all", "n", k.size)
			}
			rows[k] = c
		}
		return c
	}
	outside := map[*prep.Op]bool{} // ops outside of steps that have counterparts
	for _, d := range a.Domains {
		for _, m := range slices.Concat(d.Matches, d.Outside) {
			kind := prep.OutsideSteps
			if m.Step >= 0 {
				kind = a.KindOf[m.Step]
			} else {
				for _, p := range m.At {
					outside[&d.Ranks[p.Rank].Ops[p.Op]] = true
				}
			}
			first := d.Ranks[m.At[0].Rank]
			k := key{m.Op, groupName(d, &m), "", prep.KindName(kind), len(m.At), first.Colls[first.Ops[m.At[0].Op].Coll].Bytes}
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
				c.Transfer += p.End - p.Start - p.Wait - p.Edge
				c.Unrecorded += p.Edge
				shortest = min(shortest, p.End-p.Start)
			}
			transfers[k] = append(transfers[k], shortest)
		}
	}
	for _, r := range a.Ranks {
		for i := range r.Ops {
			o := &r.Ops[i]
			if !o.Comm() || r.Match[i] >= 0 || outside[o] {
				continue
			}
			of := &r.Colls[o.Coll]
			c := row(key{of.Op, "", r.Label, prep.KindName(r.KindAt(o.Step)), of.Size, of.Bytes})
			c.Count++
			if r.InGraph(o) {
				c.InGraphs++
			}
			c.Transfer += r.Own(i)
			c.Unrecorded += r.Edge[int32(i)]
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
	sorts.By(out, func(x, y result.CollectiveRow) int {
		return cmp.Or(cmp.Compare(y.Time(), x.Time()), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Group.String(), y.Group.String()), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Bytes, y.Bytes))
	})
	return out
}

// groupName names the ranks of a collective. It returns "" if the collective has all ranks of the domain and these are
// too many to list.
func groupName(d *match.Domain, m *match.Match) string {
	if len(m.At) == len(d.Ranks) && len(m.At) > 4 {
		return ""
	}
	names := make([]string, len(m.At))
	for i, p := range m.At {
		names[i] = d.Ranks[p.Rank].Label
	}
	return strings.Join(names, ", ")
}

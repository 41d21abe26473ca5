package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// collectiveRows sums up collectives: matched ones, and those with no partner on
// other ranks.
func collectiveRows(a *aligned) (out []CollectiveRow) {
	type key struct {
		op, group, kind string
		size            int
		bytes           int64
	}
	rows := map[key]*CollectiveRow{}
	transfers := map[key][]int64{}
	row := func(k key) *CollectiveRow {
		c := rows[k]
		if c == nil {
			c = &CollectiveRow{Op: k.op, Group: k.group, Size: k.size, Kind: k.kind, Bytes: k.bytes}
			rows[k] = c
		}
		return c
	}
	for _, d := range a.domains {
		for i := range d.matches {
			m := &d.matches[i]
			first := d.ranks[m.at[0].rank]
			k := key{m.op, groupName(d, m), a.kindOf[m.step].String(), len(m.at), first.colls[first.ops[m.at[0].op].coll].bytes}
			c := row(k)
			c.Count++
			if m.inGraph {
				c.InGraphs++
			}
			if !m.possible() {
				continue
			}
			c.Matched++
			shortest := m.at[0].end - m.at[0].start
			for _, p := range m.at {
				c.Wait += p.wait
				c.Transfer += p.end - p.start - p.wait
				shortest = min(shortest, p.end-p.start)
			}
			transfers[k] = append(transfers[k], shortest)
		}
	}
	for _, r := range a.ranks {
		for i := range r.ops {
			o := &r.ops[i]
			if !o.comm() || r.match[i] >= 0 {
				continue
			}
			of := &r.colls[o.coll]
			c := row(key{of.op, r.label + " alone", kindName(r.kindAt(o.step)), max(1, of.size), of.bytes})
			c.Count++
			if r.inGraph(o) {
				c.InGraphs++
			}
			c.Transfer += o.end - o.start
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
	slices.SortFunc(out, func(x, y CollectiveRow) int {
		return cmp.Or(cmp.Compare(y.Wait+y.Transfer, x.Wait+x.Transfer), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Bytes, y.Bytes))
	})
	return out
}

// groupName is how people call the ranks of a collective.
func groupName(d *domain, m *match) string {
	if len(m.at) == len(d.ranks) && len(m.at) > 4 {
		return fmt.Sprintf("all %d ranks", len(m.at))
	}
	names := make([]string, len(m.at))
	for i, p := range m.at {
		names[i] = d.ranks[p.rank].label
	}
	return strings.Join(names, ", ")
}

package timeline

import (
	"cmp"
	"slices"
)

// Sum is what spans of one name come to in an interval.
type Sum struct {
	Name  string `json:"name"`
	ID    uint32 `json:"id"` // in the names
	Class uint8  `json:"class"`
	GPU   bool   `json:"gpu"`
	Count int    `json:"count"`    // of spans that have a part in the interval
	Total int64  `json:"total_ns"` // of what lies in it
	Self  int64  `json:"self_ns"`  // without the spans nested in them
	Wait  int64  `json:"wait_ns"`
	Max   int64  `json:"max_ns"` // the longest span, in full
	Link  Link   `json:"longest"`
	Ranks []int  `json:"ranks"` // that have any
	// Least and Most are the rank with the least total and that with the most, of those that were asked for.
	Least   int   `json:"least"`
	Most    int   `json:"most"`
	LeastNS int64 `json:"least_ns"`
	MostNS  int64 `json:"most_ns"`
}

// Table is what an interval holds.
type Table struct {
	From int64 `json:"from_ns"`
	To   int64 `json:"to_ns"`
	Sums []Sum `json:"sums"` // by self time, the largest first
	All  int   `json:"all"`  // names that there are: of more than mostSums the rest is left out
}

const mostSums = 500

// Interval is [From, To) of the time of one rank.
type Interval struct{ From, To int64 }

// Range sums up rows, of each rank in its own interval.
func (t *Timeline) Range(rows []int, of func(rank int) Interval) *Table {
	type key struct {
		name  uint32
		class uint8
	}
	sums := map[key]*Sum{}
	perRank := map[key]map[int]int64{}
	asked := map[int]bool{}
	for _, at := range rows {
		row := &t.rows[at]
		r := t.ranks[row.Rank]
		in := of(row.Rank)
		asked[row.Rank] = true
		for k := row.Lane; k < row.Lane+row.Lanes; k++ {
			l := t.lanes[k]
			i, j := l.overlapping(in.From, in.To)
			for ; i < j; i++ {
				id := key{r.nameOf(l.span[i]), l.class[i]}
				s := sums[id]
				if s == nil {
					s = &Sum{Name: t.names.label[id.name], ID: id.name, Class: id.class, GPU: r.t.Spans[l.span[i]].Cat.OnGPU()}
					sums[id], perRank[id] = s, map[int]int64{}
				}
				start, end := max(l.start[i], in.From), min(l.end[i], in.To)
				self := end - start
				if k+1 < row.Lane+row.Lanes && !s.GPU {
					self -= t.lanes[k+1].coveredIn(start, end)
				}
				s.Count++
				s.Total += end - start
				s.Self += self
				if l.wait != nil {
					s.Wait += max(0, min(l.start[i]+l.wait[i], in.To)-start)
				}
				if dur := l.end[i] - l.start[i]; s.Count == 1 || dur > s.Max {
					s.Max, s.Link.Rank, s.Link.Span = dur, row.Rank, l.span[i]
				}
				perRank[id][row.Rank] += end - start
			}
		}
	}
	out := &Table{Sums: []Sum{}, All: len(sums)}
	for id, s := range sums {
		s.Ranks, s.Least, s.Most = []int{}, -1, -1
		for rank := range t.ranks {
			ns, has := perRank[id][rank]
			if has {
				s.Ranks = append(s.Ranks, rank)
			}
			if asked[rank] && (s.Least < 0 || ns < s.LeastNS) {
				s.Least, s.LeastNS = rank, ns
			}
			if asked[rank] && (s.Most < 0 || ns > s.MostNS) {
				s.Most, s.MostNS = rank, ns
			}
		}
		out.Sums = append(out.Sums, *s)
	}
	slices.SortFunc(out.Sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Class, b.Class))
	})
	out.Sums = out.Sums[:min(len(out.Sums), mostSums)]
	for i := range out.Sums {
		out.Sums[i].Link = t.link(out.Sums[i].Link.Rank, out.Sums[i].Link.Span)
	}
	return out
}

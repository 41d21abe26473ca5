package timeline

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Sum adds up the spans of one name in an interval.
type Sum struct {
	Name  string `json:"name"`
	ID    uint32 `json:"id"` // index of the name
	Class uint8  `json:"class"`
	GPU   bool   `json:"gpu"`
	Count int    `json:"count"`    // number of spans that overlap the interval
	Total int64  `json:"total_ns"` // total length of the parts of these spans inside the interval
	Self  int64  `json:"self_ns"`  // Total without nested spans
	Wait  int64  `json:"wait_ns"`
	Max   int64  `json:"max_ns"` // full duration of the longest span
	Link  Link   `json:"longest"`
	Ranks []int  `json:"ranks"` // ranks with such spans
	// Least and Most are the selected ranks with the smallest and the largest total.
	Least   int   `json:"least"`
	Most    int   `json:"most"`
	LeastNS int64 `json:"least_ns"`
	MostNS  int64 `json:"most_ns"`
}

// Table holds the sums of an interval.
type Table struct {
	From int64 `json:"from_ns"`
	To   int64 `json:"to_ns"`
	Sums []Sum `json:"sums"` // ordered by self time, the largest first
	All  int   `json:"all"`  // number of names, including those left out because there are more than mostSums
	// Ranks divides the interval on each rank.
	Ranks []RankSum `json:"ranks"`
}

const mostSums = 500

// Interval is [From, To) in the time of one rank.
type Interval struct{ From, To int64 }

// Range sums up the spans in the given rows. of returns the interval for each rank, in the rank's own time.
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
	out := &Table{Sums: []Sum{}, All: len(sums), Ranks: []RankSum{}}
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
	sorts.By(out.Sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Class, b.Class))
	})
	out.Sums = out.Sums[:min(len(out.Sums), mostSums)]
	for i := range out.Sums {
		out.Sums[i].Link = t.link(out.Sums[i].Link.Rank, out.Sums[i].Link.Span)
	}
	return out
}

package timeline

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Found is the result of a search.
type Found struct {
	Names []FoundName `json:"names"`    // matching names with the most time, at most mostFound
	All   int         `json:"all"`      // number of matching names
	IDs   []uint32    `json:"ids"`      // at most mostIDs matching names, for the page to highlight the spans
	Next  *Link       `json:"next"`     // the next match after the given time, or before it, on any of the rows
	Spans int         `json:"spans"`    // number of matching spans
	Total int64       `json:"total_ns"` // total time of all matching spans
}

// FoundName is a name that matches a search.
type FoundName struct {
	Name  string `json:"name"`
	ID    uint32 `json:"id"`
	Count int    `json:"count"`
	Total int64  `json:"total_ns"`
	First Link   `json:"first"`
}

const (
	mostFound = 50
	mostIDs   = 20_000
)

// Search finds the spans on the given rows with names that contain text, ignoring case. It also returns the first match
// that begins after the given time or, if back is set, the last match that begins before that time.
func (t *Timeline) Search(text string, rows []int, after int64, back bool) *Found {
	out := &Found{Names: []FoundName{}, IDs: []uint32{}}
	if text == "" {
		return out
	}
	is, some := t.names.like(text)
	if some == 0 {
		return out
	}
	by := map[uint32]*FoundName{}
	type place struct {
		rank int
		span int32
		at   int64
	}
	first := map[uint32]place{}
	best, has := place{}, false
	for _, at := range rows {
		row := &t.rows[at]
		r := t.ranks[row.Rank]
		for k := row.Lane; k < row.Lane+row.Lanes; k++ {
			l := t.lanes[k]
			for i, span := range l.span {
				id := r.nameOf(span)
				if !is[id] {
					continue
				}
				here := place{row.Rank, span, l.start[i]}
				n := by[id]
				if n == nil {
					n = &FoundName{Name: t.names.label[id], ID: id}
					by[id], first[id] = n, here
				}
				n.Count++
				n.Total += l.end[i] - l.start[i]
				if here.at < first[id].at {
					first[id] = here
				}
				if back && here.at < after && (!has || here.at > best.at) || !back && here.at > after && (!has || here.at < best.at) {
					best, has = here, true
				}
			}
		}
	}
	for id, n := range by {
		n.First = t.link(first[id].rank, first[id].span)
		out.Names, out.IDs = append(out.Names, *n), append(out.IDs, id)
		out.Spans += n.Count
		out.Total += n.Total
	}
	if has {
		next := t.link(best.rank, best.span)
		out.Next = &next
	}
	sorts.By(out.Names, func(a, b FoundName) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.ID, b.ID)) })
	slices.Sort(out.IDs)
	out.All = len(out.Names)
	out.Names, out.IDs = out.Names[:min(len(out.Names), mostFound)], out.IDs[:min(len(out.IDs), mostIDs)]
	return out
}

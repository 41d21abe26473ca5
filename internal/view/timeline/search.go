package timeline

import (
	"cmp"
	"slices"
)

// Found is what a search comes to.
type Found struct {
	Names []FoundName `json:"names"`    // those with most time, at most mostFound of All
	All   int         `json:"all"`      // names that hold the text
	IDs   []uint32    `json:"ids"`      // of the names found, at most mostIDs: the page marks their spans
	Next  *Link       `json:"next"`     // the first span after the time asked for, or before it, on any of the rows
	Spans int         `json:"spans"`    // with such names
	Total int64       `json:"total_ns"` // of all
}

// FoundName is a name that holds the text.
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

// Search finds spans whose names hold a text, in any case, on some rows, and the first that begins after a time, or with
// back the last that begins before it.
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
	var best *Link
	for _, at := range rows {
		row := &t.rows[at]
		r := t.ranks[row.Rank]
		for k := row.Lane; k < row.Lane+row.Lanes; k++ {
			l := t.lanes[k]
			link := func(i int, name uint32) Link {
				return Link{Rank: row.Rank, Span: l.span[i], Lane: int32(k), Label: t.names.label[name], Start: l.start[i], Dur: l.end[i] - l.start[i]}
			}
			for i, span := range l.span {
				id := r.nameOf(span)
				if !is[id] {
					continue
				}
				n := by[id]
				if n == nil {
					n = &FoundName{Name: t.names.label[id], ID: id, First: link(i, id)}
					by[id] = n
				}
				n.Count++
				n.Total += l.end[i] - l.start[i]
				if l.start[i] < n.First.Start {
					n.First = link(i, id)
				}
				if back && l.start[i] < after && (best == nil || l.start[i] > best.Start) ||
					!back && l.start[i] > after && (best == nil || l.start[i] < best.Start) {
					found := link(i, id)
					best = &found
				}
			}
		}
	}
	for id, n := range by {
		out.Names, out.IDs = append(out.Names, *n), append(out.IDs, id)
		out.Spans += n.Count
		out.Total += n.Total
	}
	slices.SortFunc(out.Names, func(a, b FoundName) int { return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.ID, b.ID)) })
	slices.Sort(out.IDs)
	out.All, out.Next = len(out.Names), best
	out.Names, out.IDs = out.Names[:min(len(out.Names), mostFound)], out.IDs[:min(len(out.IDs), mostIDs)]
	return out
}

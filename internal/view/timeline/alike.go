package timeline

import (
	"cmp"
	"fmt"
)

// Alike returns a span with the name of the given span on any row of its rank, or nil if there is none: the longest one,
// the next one, or the previous one.
func (t *Timeline) Alike(rank int, span int32, which string) (*Link, error) {
	if err := t.has(rank, span); err != nil {
		return nil, err
	}
	r := t.ranks[rank]
	own, _ := t.bounds(r, span)
	// order compares spans by start, and those with the same start by number.
	order := func(l *lane, i int, start int64, than int32) int {
		return cmp.Or(cmp.Compare(l.start[i], start), cmp.Compare(l.span[i], than))
	}
	var better func(l *lane, i int, best candidate) bool
	switch which {
	case "longest":
		better = func(l *lane, i int, best candidate) bool { return l.end[i]-l.start[i] > best.dur }
	case "next":
		better = func(l *lane, i int, best candidate) bool {
			return order(l, i, own, span) > 0 && (best.span < 0 || order(l, i, best.start, best.span) < 0)
		}
	case "previous":
		better = func(l *lane, i int, best candidate) bool {
			return order(l, i, own, span) < 0 && (best.span < 0 || order(l, i, best.start, best.span) > 0)
		}
	default:
		return nil, fmt.Errorf("which=%s: want longest, next or previous", which)
	}
	if r.laneOf[span] < 0 {
		return nil, nil
	}
	best, id := candidate{span: -1, dur: -1}, r.nameOf(span)
	for _, row := range t.rows {
		if row.Rank != rank {
			continue
		}
		for _, l := range t.lanes[row.Lane : row.Lane+row.Lanes] {
			for i := range l.span {
				if better(l, i, best) && r.nameOf(l.span[i]) == id {
					best = candidate{l.span[i], l.start[i], l.end[i] - l.start[i]}
				}
			}
		}
	}
	if best.span < 0 {
		return nil, nil
	}
	link := t.link(rank, best.span)
	return &link, nil
}

// candidate is a span and its position.
type candidate struct {
	span       int32
	start, dur int64
}

package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
)

// Ways to align ranks.
const (
	ByWall       = "wall"       // ranks are aligned by wall clock
	ByStep       = "step"       // each rank is shifted so that one step begins at the same position on all ranks
	ByCollective = "collective" // each rank is shifted so that all ranks arrive at one collective at the same position
	ByStretch    = "stretched"  // see stretch.go
)

// Alignment describes the placement of ranks relative to each other. Ranks are shifted, but the rate of their clocks
// does not change. The only lateness that the placement hides is the shift itself, which is in Moved.
type Alignment struct {
	By   string `json:"by"`
	Step int    `json:"step"` // step by which ranks are aligned; -1: none
	At   int64  `json:"at_ns"`
	What string `json:"what"` // operation of the collective by which ranks are aligned
	// Moved is the shift that is added to the times of each rank. Ranks are aligned to the rank with the median
	// arrival, so that a late rank moves the most. Known marks the ranks that have the step or the collective; all
	// other ranks stay.
	Moved []int64 `json:"moved_ns"`
	Known []bool  `json:"known"`
}

// Align aligns ranks by a step in the capture's numbering, or by a collective. The chosen collective is the one whose
// last arrival is nearest to at, which is a wall clock time. Ranks that do not take part in that collective are aligned
// by the nearest collective in which they take part.
func (t *Timeline) Align(by string, step int, at int64) (*Alignment, error) {
	a := &Alignment{By: by, Step: -1, Moved: make([]int64, len(t.ranks)), Known: make([]bool, len(t.ranks))}
	switch by {
	case ByWall, ByStretch:
	case ByStep:
		a.Step = step
		var places []arrival
		for i, r := range t.ranks {
			if n := step - r.First; n >= 0 && n < len(r.Steps) {
				places = append(places, arrival{i, t.wall(r, r.Steps[n].Start)})
			}
		}
		if len(places) == 0 {
			return nil, fmt.Errorf("no rank has a step %d", step)
		}
		a.At = a.moveTo(places)
	case ByCollective:
		t.alignCollective(at, a)
	default:
		return nil, fmt.Errorf("align=%s: want one of %s", by, strings.Join([]string{ByWall, ByStep, ByCollective, ByStretch}, ", "))
	}
	return a, nil
}

// arrival is the time at which a rank arrived.
type arrival struct {
	rank int
	at   int64
}

// moveTo shifts the ranks so that all arrive with the median arrival, and returns that arrival.
func (a *Alignment) moveTo(ranks []arrival) int64 {
	sorts.Stable(ranks, func(x, y arrival) int { return cmp.Compare(x.at, y.at) })
	to := ranks[(len(ranks)-1)/2].at
	for _, r := range ranks {
		a.Moved[r.rank], a.Known[r.rank] = to-r.at, true
	}
	return to
}

// alignCollective aligns ranks by the collectives near a time, the nearest collective first.
func (t *Timeline) alignCollective(at int64, a *Alignment) {
	type near struct {
		d *match.Domain
		m *match.Match
	}
	var all []near
	for _, d := range t.a.Domains {
		mid, _ := slices.BinarySearchFunc(d.Matches, at+t.a.Origin, func(m match.Match, at int64) int { return cmp.Compare(m.Last, at) })
		for i := max(0, mid-nearby); i < min(len(d.Matches), mid+nearby); i++ {
			if d.Matches[i].Possible() {
				all = append(all, near{d, &d.Matches[i]})
			}
		}
	}
	away := func(n near) int64 { return max(n.m.Last-t.a.Origin-at, at-n.m.Last+t.a.Origin) }
	sorts.Stable(all, func(x, y near) int { return cmp.Compare(away(x), away(y)) })
	unknown := len(a.Known)
	for i, n := range all {
		if unknown == 0 {
			break
		}
		var places []arrival
		for _, p := range n.m.At {
			if rank := n.d.Ranks[p.Rank].Index; !a.Known[rank] {
				places = append(places, arrival{rank, p.Start - t.a.Origin})
			}
		}
		if len(places) == 0 {
			continue
		}
		unknown -= len(places)
		if to := a.moveTo(places); i == 0 {
			a.At, a.What, a.Step = to, n.m.Op, n.m.Step
		}
	}
}

// nearby is the number of collectives that are examined before and after a time. Several are needed because the
// collectives of different groups alternate.
const nearby = 64

// Moved returns the shifts of ranks on the stretched axis. It divides [from, to) of that axis into n equal parts and
// returns, for each rank, the maximum shift in each part. Before the first and after the last collective, the shift is
// constant.
func (t *Timeline) Moved(ranks []int, from, to int64, n int) [][]int64 {
	out := make([][]int64, len(ranks))
	for i, rank := range ranks {
		knots := t.ranks[rank].knots
		x := axis{knots: knots}
		out[i] = make([]int64, n)
		k := 0
		for c := range out[i] {
			a, b := from+(to-from)/int64(n)*int64(c), from+(to-from)/int64(n)*int64(c+1)
			most := a - x.own(a)
			for ; k < len(knots.shown) && knots.shown[k] < b; k++ {
				if moved := knots.shown[k] - knots.own[k]; knots.shown[k] >= a && moved > most {
					most = moved
				}
			}
			out[i][c] = most
		}
	}
	return out
}

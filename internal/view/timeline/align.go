package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/match"
)

// Ways to lay ranks beside each other.
const (
	ByWall       = "wall"       // as the clocks say
	ByStep       = "step"       // each rank is moved so that one step begins at the same place on all
	ByCollective = "collective" // so that all come to one collective at the same place
	ByStretch    = "stretched"  // see stretch.go
)

// Alignment says how ranks lie beside each other. Those that are moved keep the pace of their clocks: alignment hides
// no lateness but what it says that it took out.
type Alignment struct {
	By   string `json:"by"`
	Step int    `json:"step"` // that they are aligned at; -1
	At   int64  `json:"at_ns"`
	What string `json:"what"` // the operation of the collective
	// Moved is what is added to the times of each rank. What they are moved to is the rank with the median arrival, so
	// that a rank that comes late is the one that moves far. Known tells ranks that have the step or the collective;
	// others stay.
	Moved []int64 `json:"moved_ns"`
	Known []bool  `json:"known"`
}

// Align aligns ranks by a step of the capture's numbering, or by the collective whose last arrival is nearest to a time
// on the wall clock; ranks that have no part in it by the nearest of their own.
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
		return nil, fmt.Errorf("align=%s: there are %s", by, strings.Join([]string{ByWall, ByStep, ByCollective, ByStretch}, ", "))
	}
	return a, nil
}

// arrival is when a rank came.
type arrival struct {
	rank int
	at   int64
}

// moveTo moves ranks to the one with the median arrival, and gives that.
func (a *Alignment) moveTo(ranks []arrival) int64 {
	slices.SortStableFunc(ranks, func(x, y arrival) int { return cmp.Compare(x.at, y.at) })
	to := ranks[(len(ranks)-1)/2].at
	for _, r := range ranks {
		a.Moved[r.rank], a.Known[r.rank] = to-r.at, true
	}
	return to
}

// alignCollective moves ranks to collectives near a time, the nearest first.
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
	slices.SortStableFunc(all, func(x, y near) int { return cmp.Compare(away(x), away(y)) })
	for i, n := range all {
		if !slices.Contains(a.Known, false) {
			break
		}
		var places []arrival
		for _, p := range n.m.At {
			if rank := slices.Index(t.a.Ranks, n.d.Ranks[p.Rank]); !a.Known[rank] {
				places = append(places, arrival{rank, p.Start - t.a.Origin})
			}
		}
		if len(places) == 0 {
			continue
		}
		if to := a.moveTo(places); i == 0 {
			a.At, a.What, a.Step = to, n.m.Op, n.m.Step
		}
	}
}

// nearby is how many collectives before and after a time are looked at: groups take turns.
const nearby = 64

// Moved says how far moments of ranks were moved by stretching, in n equal parts of [from, to) of the stretched axis: the
// farthest of each part. Nothing is after the last collective or before the first but a constant.
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

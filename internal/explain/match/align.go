package match

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
)

// This file gives the same step the same number on all ranks. Servers mostly open the window at the same forward pass
// on every rank, but a rank may begin or end a few steps later than the others. All ranks leave a collective together.
// In the right numbering, therefore, the ends of a collective on two ranks differ by the same amount for all
// collectives. This amount is the difference of the clocks and may have any size. Steps are never regular enough for a
// wrong numbering to fit as well. If the clocks agree, there is a second criterion: in the right numbering, no rank
// ends a collective before all ranks have begun it.

const (
	maxMoved    = 64   // maximum number of steps by which the beginnings of windows may differ
	movedPairs  = 8    // minimum number of collectives to renumber or shift anything
	steadyEnds  = 2000 // ns: if the differences of ends vary less than this, the ends belong to the same collectives
	movedEnds   = 20_000
	movedSample = 512 // maximum number of collectives checked for one numbering
)

// leave holds the times of one collective on one rank.
type leave struct {
	sequence   int32
	start, end int64
}

// alignSteps gives the same step the same number on all ranks, by setting First of each rank.
func (d *Domain) alignSteps() {
	ref := d.Ranks[0]
	for _, r := range d.Ranks[1:] {
		if s, t := len(r.spans()), len(ref.spans()); s > t || s == t && len(r.Steps) > len(ref.Steps) {
			ref = r
		}
	}
	done := d.even(ref)
	_, of := d.sequences()
	theirs := ref.leaves(of[slices.Index(d.Ranks, ref)])
	for i, r := range d.Ranks {
		if done[r] {
			continue
		}
		r.First = 0
		if r != ref && len(r.Steps) > 0 {
			r.First = ref.moved(r, theirs, r.leaves(of[i]))
		}
	}
	least := 0
	for _, r := range d.Ranks {
		if len(r.Steps) > 0 {
			least = min(least, r.First)
		}
	}
	for _, r := range d.Ranks {
		r.First -= least
	}
}

// leaves returns the collectives of each step, ordered by sequence and then by time.
func (r *Rank) leaves(sequence []int32) [][]leave {
	out := make([][]leave, len(r.Steps))
	for i := range r.Ops {
		o := &r.Ops[i]
		if !o.Comm() || o.Step < 0 || sequence[o.Coll] < 0 {
			continue
		}
		out[o.Step] = append(out[o.Step], leave{sequence[o.Coll], o.Start, o.End})
	}
	for _, l := range out {
		sorts.Stable(l, func(a, b leave) int { return cmp.Compare(a.sequence, b.sequence) })
	}
	return out
}

// moved returns the index of the step of ref that corresponds to the first step of r.
func (ref *Rank) moved(r *Rank, theirs, mine [][]leave) int {
	plain := tryNumbering(theirs, mine, 0)
	if plain.pairs >= movedPairs && (plain.possible || plain.deviation <= steadyEnds) {
		return 0
	}
	best, where := plain, 0
	enough := (min(len(theirs), len(mine)) + 1) / 2
	for at := -min(maxMoved, len(mine)-enough); at <= min(maxMoved, len(theirs)-enough); at++ {
		if at == 0 {
			continue
		}
		n := tryNumbering(theirs, mine, at)
		if n.pairs < movedPairs || n.deviation > movedEnds && !n.possible {
			continue
		}
		better := n.deviation < best.deviation
		if where == 0 {
			// A numbering other than the plain one must fit clearly better than the plain one.
			better = 2*n.deviation+1000 < best.deviation || best.pairs < movedPairs
		}
		if n.possible != best.possible {
			better = n.possible
		}
		if better {
			best, where = n, at
		}
	}
	if where != 0 || plain.pairs >= movedPairs && plain.deviation <= movedEnds {
		return where
	}
	return ref.movedByNames(r)
}

// fit describes how well a numbering of steps fits.
type fit struct {
	pairs     int   // number of collectives that the numbering pairs
	deviation int64 // median deviation of the differences between the ends of paired collectives, ns
	possible  bool  // with the clocks as they are, hardly any pair is impossible
}

// tryNumbering pairs mine[i] with theirs[i+at].
func tryNumbering(theirs, mine [][]leave, at int) fit {
	var diff, when []int64
	broken := 0
	for i := max(0, -at); i < min(len(mine), len(theirs)-at); i++ {
		a, b := theirs[i+at], mine[i]
		if len(a) != len(b) || len(diff) > movedSample {
			continue
		}
		for k := range a {
			if a[k].sequence != b[k].sequence {
				continue
			}
			diff, when = append(diff, a[k].end-b[k].end), append(when, b[k].end)
			if a[k].end < b[k].start || b[k].end < a[k].start {
				broken++
			}
		}
	}
	if len(diff) == 0 {
		return fit{}
	}
	clock.Undrift(diff, when)
	slices.Sort(diff)
	mid := diff[len(diff)/2]
	for i := range diff {
		diff[i] = abs(diff[i] - mid)
	}
	slices.Sort(diff)
	return fit{len(diff), diff[len(diff)/2], broken*50 <= len(diff)}
}

// movedByNames is like moved, for ranks that share no collectives. It returns the index at which the steps of r and ref
// have the same names and begin at about the same time.
func (ref *Rank) movedByNames(r *Rank) int {
	best, bestGap := 0, int64(-1)
	for at := 0; at <= len(ref.Steps)-len(r.Steps); at++ {
		gaps := make([]int64, 0, len(r.Steps))
		same := true
		for i := range r.Steps {
			a, b := &r.Steps[i], &ref.Steps[i+at]
			same = same && a.Info == b.Info
			gaps = append(gaps, abs(a.Start-b.Start))
		}
		slices.Sort(gaps)
		if mid := gaps[len(gaps)/2]; same && (bestGap < 0 || mid < bestGap) {
			best, bestGap = at, mid
		}
	}
	return best
}

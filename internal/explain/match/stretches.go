package match

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// If ranks were recorded in several stretches, steps are numbered consecutively across stretches, and the first step of
// a stretch must have the same number on every rank. If one rank lacks a step at the end of a stretch or at the
// beginning of the next one, all later steps would be shifted. Such a step is therefore dropped on the other ranks,
// too.

// span identifies the steps [from, to) of a stretch.
type span struct{ from, to int }

// spans returns the stretches of a rank that have steps.
func (r *Rank) spans() (out []span) {
	for i := range r.Steps {
		if r.Begins(i) {
			out = append(out, span{i, i})
		}
		out[len(out)-1].to = i + 1
	}
	return out
}

// part returns a rank with the steps of one stretch.
func (r *Rank) part(s span) *Rank { return &Rank{Rank: &prep.Rank{Steps: r.Steps[s.from:s.to]}} }

// even finds the steps that one rank lacks at the inner ends of stretches, and drops them on all other ranks. It also
// sets First. It handles the ranks with as many stretches as ref, and returns them in done.
func (d *Domain) even(ref *Rank) (done map[*Rank]bool) {
	theirs := ref.spans()
	if len(theirs) < 2 {
		return nil
	}
	_, of := d.sequences()
	leaves := ref.leaves(of[slices.Index(d.Ranks, ref)])
	done = map[*Rank]bool{ref: true}
	at := map[*Rank][]int{ref: make([]int, len(theirs))} // first step of each stretch, relative to ref's
	begin, end := make([]int, len(theirs)), make([]int, len(theirs))
	for k, s := range theirs {
		end[k] = s.to - s.from
	}
	for i, r := range d.Ranks {
		mine := r.spans()
		if r == ref || len(mine) != len(theirs) {
			continue
		}
		done[r] = true
		own := r.leaves(of[i])
		for k, s := range mine {
			first := ref.part(theirs[k]).moved(r.part(s), leaves[theirs[k].from:theirs[k].to], own[s.from:s.to])
			at[r] = append(at[r], first)
			begin[k], end[k] = max(begin[k], first), min(end[k], first+s.to-s.from)
		}
	}
	for r := range done {
		r.First = at[r][0]
		for k, s := range slices.Backward(r.spans()) {
			if last := at[r][k] + s.to - s.from; k < len(theirs)-1 && end[k] < last {
				r.leaveOut(s.to-(last-end[k]), s.to)
			}
			if k > 0 && begin[k] > at[r][k] {
				r.leaveOut(s.from, s.from+begin[k]-at[r][k])
			}
		}
	}
	return done
}

// leaveOut drops steps and adds a note.
func (r *Rank) leaveOut(from, to int) {
	from = max(from, 0)
	r.DropSteps(from, to)
	r.Notes = append(slices.Clone(r.Notes), trace.Note{Kind: trace.NoteUneven, Source: r.Source.Path, Count: int64(to - from)})
}

// together makes the second stretch begin with the same step number in all domains. Domains that share no collectives
// may have recorded different numbers of steps in the first stretch.
func together(domains []*Domain) {
	second := func(d *Domain) int {
		for _, r := range d.Ranks {
			if s := r.spans(); len(s) > 1 {
				return r.First + s[1].from
			}
		}
		return -1
	}
	last := -1
	for _, d := range domains {
		last = max(last, second(d))
	}
	for _, d := range domains {
		at := second(d)
		if at < 0 || at == last {
			continue
		}
		for _, r := range d.Ranks {
			r.First += last - at
		}
		for i := range d.Matches {
			d.Matches[i].Step += last - at
		}
	}
}

// recorded returns the total time in which at least one rank was recorded, in ns. It returns 0 if the capture is a
// single stretch, which is recorded as a whole.
func (a *Aligned) recorded() (ns int64) {
	if !slices.ContainsFunc(a.Ranks, func(r *Rank) bool { return len(r.Stretches) > 1 }) {
		return 0
	}
	var all []prep.Interval
	for _, r := range a.Ranks {
		if len(r.Stretches) < 2 {
			all = append(all, prep.Interval{Start: r.Wall(r.Extent.Start), End: r.Wall(r.Extent.End)})
		}
		for _, s := range r.Stretches {
			all = append(all, prep.Interval{Start: r.Wall(s.Start), End: r.Wall(s.End)})
		}
	}
	sorts.By(all, func(x, y prep.Interval) int { return cmp.Compare(x.Start, y.Start) })
	return prep.Overlap(prep.Union(all), a.Origin, a.Origin+a.Span)
}

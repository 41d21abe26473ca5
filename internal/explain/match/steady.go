package match

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/trace"
)

// If the clocks of two hosts differ by less than the time of a collective, no collective becomes impossible. The
// difference would nevertheless be taken for lateness, because one of the ranks seems to leave every collective a
// little later. A clock difference can be recognised because it is the same in all steps of a kind, whereas a link
// becomes slow at some step. Large transfers end unevenly by nature, so steps of different kinds are not compared. A
// link that is slow from the first step on cannot be distinguished from a clock difference.

const (
	steadyLeast = 1500 // ns: smaller differences are noise
	// steadyMost is the largest difference, in ns, that is taken for a clock difference although no collective is
	// impossible. Collectives of decode steps hardly take longer than this.
	steadyMost  = 20_000
	steadySteps = 3 // minimum number of steps that must agree
	steadyPairs = 4 // minimum number of collectives for a step to count
)

// steadyShifts shifts the clock of a rank if collectives on this rank end later or earlier than on the first rank, with
// the same difference in every step. It reports whether it shifted any clock. It skips ranks on the same host as the
// first rank, since these share a clock.
func (d *Domain) steadyShifts() bool {
	moved := false
	for i := 1; i < len(d.Ranks); i++ {
		r := d.Ranks[i]
		if host := r.Source.Host; host != "" && host == d.Ranks[0].Source.Host {
			continue
		}
		if s, ok := d.steadyShift(int32(i)); ok {
			s.Offset += r.Shift.Offset
			s.Drift, s.Since = r.Shift.Drift, r.Shift.Since
			r.Shift = s
			moved = true
		}
	}
	return moved
}

func (d *Domain) steadyShift(i int32) (clock.Shift, bool) {
	by := map[int][]int64{}
	for m := range d.Matches {
		at := d.Matches[m].At
		var ref, own *Part
		for p := range at {
			switch at[p].Rank {
			case 0:
				ref = &at[p]
			case i:
				own = &at[p]
			}
		}
		if ref != nil && own != nil {
			by[d.Matches[m].Step] = append(by[d.Matches[m].Step], ref.End-own.End)
		}
	}
	byKind := map[trace.StepKind][]int64{}
	first := d.Ranks[0]
	for step, ends := range by {
		if at := step - first.First; len(ends) >= steadyPairs && at > 0 && at < len(first.Steps) {
			kind := first.Steps[at].Info.Kind
			byKind[kind] = append(byKind[kind], int64(metric.MedianInPlace(ends)))
		}
	}
	var medians []int64 // medians of the kind with the most steps
	for _, kind := range []trace.StepKind{trace.Decode, trace.Denoising, trace.Prefill, trace.Mixed, trace.OtherStep} {
		if len(byKind[kind]) > len(medians) {
			medians = byKind[kind]
		}
	}
	n := len(medians)
	if n < steadySteps {
		return clock.Shift{}, false
	}
	slices.Sort(medians)
	off := medians[len(medians)/2]
	near := max(1000, abs(off)/4)
	// A clock difference exists in the first step, too. Large transfers of prefill end unevenly, so only decode counts.
	if ends := by[first.First]; len(ends) >= steadyPairs && first.Steps[0].Info.Kind == trace.Decode {
		if start := metric.MedianInPlace(ends); 4*max(start, -start) < float64(abs(off)) {
			return clock.Shift{}, false
		}
	}
	if abs(off) < steadyLeast || abs(off) > steadyMost || off-medians[0] > near || medians[len(medians)-1]-off > near {
		return clock.Shift{}, false
	}
	return clock.Shift{Offset: off, Spread: max(off-medians[0], medians[len(medians)-1]-off), N: n}, true
}

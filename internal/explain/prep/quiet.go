package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// quietLook is the number of spans before a step in which findQuiet looks for the last event before the step.
const quietLook = 512

// findQuiet sets Quiet for each step of the launching thread.
func (r *Rank) findQuiet(t *trace.Trace) {
	spans := r.mainThread(t)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Quiet = s.Start; s.Track != r.Main || s.Name == "" {
			continue
		}
		at, _ := slices.BinarySearchFunc(spans, s.Start, func(x trace.Span, at int64) int { return cmp.Compare(x.Start, at) })
		last := int64(-1)
		for k := at - 1; k >= max(0, at-quietLook); k-- {
			last = max(last, spans[k].Start)
			if end := spans[k].End(); end <= s.Start {
				last = max(last, end)
			}
		}
		if last >= 0 {
			s.Quiet = last
		}
	}
}

// Outputs returns the device waits of all threads that launch nothing, such as a thread that copies sampled tokens
// back. The waits are ordered by their ends.
func (r *Rank) Outputs() (out []Interval) {
	launches := map[trace.TrackID]bool{}
	for i := range r.Calls {
		launches[r.Calls[i].Track] = true
	}
	for track, list := range r.Blocked {
		if !launches[track] {
			out = append(out, list...)
		}
	}
	sorts.By(out, func(x, y Interval) int { return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Start, y.Start)) })
	return out
}

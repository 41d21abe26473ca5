package prep

import "slices"

// KeptGaps is the number of idle gaps that are kept, the longest first.
const KeptGaps = 30

// Gap is an interval between two ops, within the steps, in which the device did nothing.
type Gap struct {
	From, Dur     int64
	Before, After int32  // the op that ended last before the gap, and the op that starts after it
	Call          string // API call that started After; "": not recorded
	Did           Doing  // activity of the thread that made Call, since its previous launch
}

// gaps returns the longest gaps of a rank, longest first, with the host's activity during each.
func (h *host) gaps(r *Rank) (out []Gap) {
	if len(r.Steps) == 0 || len(r.Ops) == 0 {
		return nil
	}
	bounds, _ := r.DeviceWindows()
	last := int32(0) // the op that ends last among the ops so far
	for i := range r.Ops[1:] {
		after := int32(i + 1)
		o := &r.Ops[after]
		if from := r.Ops[last].End; o.Start > from && from >= bounds[0] && !r.Apart(from, o.Start) {
			out = longest(out, Gap{From: from, Dur: o.Start - from, Before: last, After: after})
		}
		if o.End >= r.Ops[last].End {
			last = after
		}
	}
	for i := range out {
		g := &out[i]
		after := &r.Ops[g.After]
		if after.Call < 0 {
			continue
		}
		c := &r.Calls[after.Call]
		g.Call = h.t.Strings.Get(h.t.Spans[c.Span].Name)
		g.Did = h.did(c.Track, g.From, max(g.From, min(c.Start, after.Start)))
	}
	return out
}

// longest inserts g into gaps, the sorted list of the longest gaps so far.
func longest(gaps []Gap, g Gap) []Gap {
	if len(gaps) == KeptGaps {
		if gaps[KeptGaps-1].Dur >= g.Dur {
			return gaps
		}
		gaps = gaps[:KeptGaps-1]
	}
	at := len(gaps)
	for at > 0 && gaps[at-1].Dur < g.Dur {
		at--
	}
	return slices.Insert(gaps, at, g)
}

// DeviceWindows returns the bounds of every step on the device: step i covers [out[i], ends[i]). The time from ends[i]
// to out[i+1] belongs to no step.
func (r *Rank) DeviceWindows() (out, ends []int64) {
	n := len(r.Steps)
	out, ends = make([]int64, n+1), make([]int64, n)
	seen := make([]bool, n)
	last := int64(0)
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Step < 0 {
			continue
		}
		if !seen[o.Step] || o.Start < out[o.Step] {
			out[o.Step], seen[o.Step] = o.Start, true
		}
		last, ends[o.Step] = max(last, o.End), max(ends[o.Step], o.End)
	}
	out[n] = last
	for i := n - 1; i >= 0; i-- {
		// A step without device work is empty. A step whose work begins, on another stream, before the work of an
		// earlier step starts together with that earlier step.
		if !seen[i] || out[i] > out[i+1] {
			out[i] = out[i+1]
		}
	}
	for i := 1; i < n; i++ {
		if !seen[i] && r.Steps[i].Unmeasured() { // the step ran, so it does not extend the step before it
			out[i] = max(out[i-1], ends[i-1])
		}
	}
	for i := range ends {
		if !r.EndsStage(i) {
			ends[i] = out[i+1]
		}
		ends[i] = max(out[i], min(ends[i], out[i+1]))
	}
	return out, ends
}

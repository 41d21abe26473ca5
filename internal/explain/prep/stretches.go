package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// A window recorded by stage contains prefill and decode in separate stretches. Nothing is known about the time between
// two stretches, so no step, gap or wait extends from one stretch into the next.

// stretchesOf splits a trace into one trace per stretch.
func stretchesOf(t *trace.Trace) []*trace.Trace {
	if len(t.Stretches) < 2 {
		return []*trace.Trace{t}
	}
	out := make([]*trace.Trace, len(t.Stretches))
	for i := range out {
		one := *t
		one.Spans = slices.DeleteFunc(slices.Clone(t.Spans), func(s trace.Span) bool { return stretchAt(t.Stretches, s.Start) != i })
		out[i] = &one
	}
	return out
}

// stretchAt returns the index of the last stretch that begins no later than at.
func stretchAt(all []trace.Stretch, at int64) int {
	i, ok := slices.BinarySearchFunc(all, at, func(s trace.Stretch, at int64) int { return cmp.Compare(s.Start, at) })
	if !ok {
		i--
	}
	return max(i, 0)
}

// Stretch returns the index, from 0, of the stretch that contains a moment.
func (r *Rank) Stretch(at int64) int { return stretchAt(r.Stretches, at) }

// Apart reports whether two moments are in different stretches.
func (r *Rank) Apart(x, y int64) bool { return len(r.Stretches) > 1 && r.Stretch(x) != r.Stretch(y) }

// Begins reports whether a step is the first of its stretch. The profiler starts in that step.
func (r *Rank) Begins(step int) bool {
	return step == 0 || r.Apart(r.Steps[step-1].Start, r.Steps[step].Start)
}

// CutStage reports whether the file of the first stretch is truncated, and returns the number of steps in that stretch.
func (r *Rank) CutStage() (steps int, cut bool) {
	if len(r.Stretches) < 2 || r.Stretches[0].Complete {
		return 0, false
	}
	for steps < len(r.Steps) && r.Stretch(r.Steps[steps].Start) == 0 {
		steps++
	}
	return steps, true
}

// endWithStretches makes the last step of each stretch, except the last stretch, end with its own work, because the
// rank's next step was recorded at a different time.
func (r *Rank) endWithStretches() {
	for i := range r.Steps {
		if i > 0 && r.Begins(i) {
			s := &r.Steps[i-1]
			for k := range r.Ops {
				if o := &r.Ops[k]; o.Step == int32(i-1) {
					s.Until = max(s.Until, s.End, o.End)
				}
			}
			s.Until = max(s.Until, s.End)
		}
	}
}

// DropSteps removes the steps in [from, to), as if they had not been recorded.
func (r *Rank) DropSteps(from, to int) {
	if from >= to {
		return
	}
	if from > 0 && to < len(r.Steps) && !r.Begins(from) { // the preceding step ends where the dropped steps began
		r.Steps = slices.Clone(r.Steps)
		r.Steps[from-1].Until = r.Steps[from].Start
	}
	moved := func(step int32) int32 {
		switch {
		case step < int32(from):
			return step
		case step < int32(to):
			return -1
		}
		return step - int32(to-from)
	}
	r.Steps = slices.Delete(slices.Clone(r.Steps), from, to)
	for i := range r.Ops {
		r.Ops[i].Step = moved(r.Ops[i].Step)
	}
	for i := range r.Calls {
		r.Calls[i].Step = moved(r.Calls[i].Step)
	}
	for i := range r.Cold {
		r.Cold[i].Step = moved(r.Cold[i].Step)
	}
	r.HostColls = slices.Clone(r.HostColls)
	for i := range r.HostColls {
		r.HostColls[i].Step = moved(r.HostColls[i].Step)
	}
	r.Still = slices.DeleteFunc(slices.Clone(r.Still), func(s Still) bool { return s.Step >= int32(from) && s.Step < int32(to) })
	for i := range r.Still {
		r.Still[i].Step = moved(r.Still[i].Step)
	}
}

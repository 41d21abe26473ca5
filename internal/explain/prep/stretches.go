package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// A window by stage records prefill and decode at different times. What a server did
// between is not known: no step, no gap and no wait reaches from one stretch into the next.

// stretchesOf gives a trace for each stretch of one.
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

// stretchAt is the stretch of a moment: the last that has begun.
func stretchAt(all []trace.Stretch, at int64) int {
	i, ok := slices.BinarySearchFunc(all, at, func(s trace.Stretch, at int64) int { return cmp.Compare(s.Start, at) })
	if !ok {
		i--
	}
	return max(i, 0)
}

// Stretch is the stretch of a moment of the rank, from 0.
func (r *Rank) Stretch(at int64) int { return stretchAt(r.Stretches, at) }

// Apart tells whether two moments are of different stretches.
func (r *Rank) Apart(x, y int64) bool { return len(r.Stretches) > 1 && r.Stretch(x) != r.Stretch(y) }

// Begins tells whether a step is the first of its stretch: the profiler's start is in it.
func (r *Rank) Begins(step int) bool {
	return step == 0 || r.Apart(r.Steps[step-1].Start, r.Steps[step].Start)
}

// CutStage tells whether the file of the first stretch ends early, and how many steps it has.
func (r *Rank) CutStage() (steps int, cut bool) {
	if len(r.Stretches) < 2 || r.Stretches[0].Complete {
		return 0, false
	}
	for steps < len(r.Steps) && r.Stretch(r.Steps[steps].Start) == 0 {
		steps++
	}
	return steps, true
}

// endWithStretches ends the last step of each stretch but the last with what it did: the
// next one that the rank has was made at another time.
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

// DropSteps takes away the steps from one to before another, as if they had not been recorded.
func (r *Rank) DropSteps(from, to int) {
	if from >= to {
		return
	}
	if from > 0 && to < len(r.Steps) && !r.Begins(from) { // the one before ends where they began
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

package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// findSteps cuts a trace into forward passes, stretch by stretch, since prefill and decode have different repeating
// patterns. It returns the rule of the first stretch with steps.
func findSteps(t *trace.Trace) ([]Step, string) {
	var steps []Step
	rule := trace.Uncut
	for _, one := range stretchesOf(t) {
		passes, by := trace.Passes(one)
		for _, p := range passes {
			steps = append(steps, Step{Start: p.Start, End: p.End, Info: p.Step, Name: t.Strings.Get(p.Name), Requests: t.Strings.Get(p.Requests), Track: p.Track, Next: p.Next})
		}
		if rule == trace.Uncut {
			rule = by
		}
	}
	return steps, rule
}

// wholeWindow treats the whole window, or each stretch, as one step, so that a trace without steps still gets figures.
func (r *Rank) wholeWindow() {
	of := map[int]int32{} // index of the step for each stretch
	for i := range r.Ops {
		o := &r.Ops[i]
		in := r.Stretch(o.Start)
		if o.Call >= 0 {
			in = r.Stretch(r.Calls[o.Call].Start)
		}
		at, ok := of[in]
		if !ok {
			at = int32(len(r.Steps))
			of[in] = at
			r.Steps = append(r.Steps, Step{Start: o.Start, Info: trace.Step{Batch: -1, Tokens: -1}})
		}
		o.Step, r.Steps[at].End = at, max(r.Steps[at].End, o.End)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if at, ok := of[r.Stretch(c.Start)]; ok {
			c.Step, r.Steps[at].Start = at, min(r.Steps[at].Start, c.Start)
		}
	}
}

// dropCutSteps drops the steps whose GPU work is missing, in whole or in part, because the file is truncated. Files
// contain CPU activity before GPU work, so such a step would look like a step without work.
func (r *Rank) dropCutSteps() {
	if len(r.Stretches) < 2 {
		r.dropCutIn(0, len(r.Steps))
		return
	}
	for to := len(r.Steps); to > 0; {
		from := to - 1
		for !r.Begins(from) {
			from--
		}
		if !r.Stretches[r.Stretch(r.Steps[from].Start)].Complete {
			r.dropCutIn(from, to)
		}
		to = from
	}
}

// dropCutIn drops such steps among the steps in [from, to).
func (r *Rank) dropCutIn(from, to int) {
	whole := int32(from) // the steps before the last step with GPU work are complete
	for i := range r.Ops {
		if at := r.Ops[i].Step; at < int32(to) {
			whole = max(whole, at)
		}
	}
	if to == len(r.Steps) {
		r.Cut = r.Steps[whole:]
	}
	r.DropSteps(int(whole), to)
}

// RestoreCut restores the steps that dropCutSteps dropped, if no rank has any GPU work. Missing GPU work then does not
// show that a step is incomplete.
func RestoreCut(ranks []*Rank) {
	if slices.ContainsFunc(ranks, func(r *Rank) bool { return len(r.Ops) > 0 }) {
		return
	}
	for _, r := range ranks {
		r.Steps, r.Cut = slices.Concat(r.Steps, r.Cut), nil
	}
}

// count sets the numbers of launches and kernels of each step.
func (r *Rank) count() {
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Step >= 0 && o.Cat == trace.Kernel {
			r.Steps[o.Step].Kernels++
		}
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Step >= 0 {
			st := &r.Steps[c.Step]
			st.Launches++
			if c.Graph {
				st.Graphs++
			}
		}
	}
}

// StepAt returns the index of the step that contains the host time at, or -1. Steps do not overlap.
func (r *Rank) StepAt(at int64) int32 {
	i, ok := slices.BinarySearchFunc(r.Steps, at, func(s Step, at int64) int { return cmp.Compare(s.Start, at) })
	if !ok {
		i--
	}
	if i < 0 || at >= r.Steps[i].End {
		return -1
	}
	return int32(i)
}

// Period returns the host time from the start of step i to the start of the next step. The last step of a stage lasts
// until the end of the stage. The last step of the trace lasts until the start of a step that the window cut off. If
// there is no such step, it lasts until both the step and the last op have ended.
func (r *Rank) Period(i int) int64 {
	if r.EndsStage(i) {
		return r.Steps[i].Until - r.Steps[i].Start
	}
	if i+1 < len(r.Steps) {
		return r.Steps[i+1].Start - r.Steps[i].Start
	}
	if next := r.Steps[i].Next; next > 0 {
		return next - r.Steps[i].Start
	}
	end := r.Steps[i].End
	if n := len(r.Ops); n > 0 {
		end = max(end, r.Ops[n-1].End)
	}
	return end - r.Steps[i].Start
}

// OutsideSteps is used as the kind of all work outside of steps.
const OutsideSteps = trace.StepKind(255)

func KindName(k trace.StepKind) string {
	if k == OutsideSteps {
		return "outside"
	}
	return k.String()
}

func (r *Rank) KindAt(step int32) trace.StepKind {
	if step < 0 {
		return OutsideSteps
	}
	return r.Steps[step].Info.Kind
}

package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// findSteps cuts a trace into forward passes, stretch by stretch: prefill and decode
// repeat in their own ways. The rule is that of the first which has any.
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

// wholeWindow makes one step of everything, or of each stretch, so that a trace without
// steps still gets its figures.
func (r *Rank) wholeWindow() {
	of := map[int]int32{} // steps by stretch
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

// dropCutSteps takes away the steps whose GPU work a file that ends early has
// not, or not all of: it is written after the CPU's, so such a step would look
// like one without work.
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

// dropCutIn is that of the steps from one to before another.
func (r *Rank) dropCutIn(from, to int) {
	whole := int32(from) // steps before the last one with GPU work are whole
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

// RestoreCut gives ranks without any GPU work the steps back that a cut file has no GPU
// work of: there, that is missing on none tells nothing of their ends.
func RestoreCut(ranks []*Rank) {
	if slices.ContainsFunc(ranks, func(r *Rank) bool { return len(r.Ops) > 0 }) {
		return
	}
	for _, r := range ranks {
		r.Steps, r.Cut = slices.Concat(r.Steps, r.Cut), nil
	}
}

// count counts what each step launched and ran.
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

// StepAt is the step that holds a moment of the host, -1 for none. Steps do
// not overlap.
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

// Period is the time from a step's start to the next one's, on the host; for
// the last step its own length, or until the last op ends if that is later. The
// last step of a stage ends with it: what follows is another stage's.
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

// OutsideSteps is the kind of what no step holds.
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

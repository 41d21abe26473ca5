package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// findSteps cuts a trace into forward passes.
func findSteps(t *trace.Trace) ([]Step, string) {
	passes, rule := trace.Passes(t)
	steps := make([]Step, len(passes))
	for i, p := range passes {
		steps[i] = Step{Start: p.Start, End: p.End, Info: p.Step, Name: t.Strings.Get(p.Name), Requests: t.Strings.Get(p.Requests), Track: p.Track, Next: p.Next}
	}
	return steps, rule
}

// wholeWindow makes one step of everything, so that a trace without steps
// still gets its figures.
func (r *Rank) wholeWindow() {
	if len(r.Ops) == 0 {
		return
	}
	whole := Step{Start: r.Ops[0].Start, Info: trace.Step{Batch: -1, Tokens: -1}}
	for i := range r.Calls {
		whole.Start = min(whole.Start, r.Calls[i].Start)
		r.Calls[i].Step = 0
	}
	for i := range r.Ops {
		whole.End = max(whole.End, r.Ops[i].End)
		r.Ops[i].Step = 0
	}
	r.Steps = []Step{whole}
}

// dropCutSteps takes away the steps whose GPU work a file that ends early has
// not, or not all of: it is written after the CPU's, so such a step would look
// like one without work.
func (r *Rank) dropCutSteps() {
	whole := int32(0) // steps before the last one with GPU work are whole
	for i := range r.Ops {
		whole = max(whole, r.Ops[i].Step)
	}
	r.Steps, r.Cut = r.Steps[:whole:whole], r.Steps[whole:]
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Step >= whole {
			o.Step = -1
		}
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Step >= whole {
			c.Step = -1
		}
	}
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

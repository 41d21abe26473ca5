package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// findSteps cuts a trace into forward passes.
func findSteps(t *trace.Trace) ([]step, string) {
	passes, rule := trace.Passes(t)
	steps := make([]step, len(passes))
	for i, p := range passes {
		steps[i] = step{start: p.Start, end: p.End, info: p.Step, name: t.Strings.Get(p.Name), requests: t.Strings.Get(p.Requests), track: p.Track}
	}
	return steps, rule
}

// wholeWindow makes one step of everything, so that a trace without steps
// still gets its figures.
func (r *rank) wholeWindow() {
	if len(r.ops) == 0 {
		return
	}
	whole := step{start: r.ops[0].start, info: trace.Step{Batch: -1, Tokens: -1}}
	for i := range r.calls {
		whole.start = min(whole.start, r.calls[i].start)
		r.calls[i].step = 0
	}
	for i := range r.ops {
		whole.end = max(whole.end, r.ops[i].end)
		r.ops[i].step = 0
	}
	r.steps = []step{whole}
}

// dropCutSteps takes away the steps whose GPU work a file that ends early has
// not, or not all of: it is written after the CPU's, so such a step would look
// like one without work.
func (r *rank) dropCutSteps() {
	whole := int32(0) // steps before the last one with GPU work are whole
	for i := range r.ops {
		whole = max(whole, r.ops[i].step)
	}
	r.cut = len(r.steps) - int(whole)
	r.steps = r.steps[:whole]
	for i := range r.ops {
		if o := &r.ops[i]; o.step >= whole {
			o.step = -1
		}
	}
	for i := range r.calls {
		if c := &r.calls[i]; c.step >= whole {
			c.step = -1
		}
	}
}

// hostOnly gives ranks without any GPU work the steps back that a cut file has no GPU
// work of: there, that is missing on none tells nothing of their ends.
func hostOnly(ranks []*rank) {
	if slices.ContainsFunc(ranks, func(r *rank) bool { return len(r.ops) > 0 }) {
		return
	}
	for _, r := range ranks {
		r.steps, r.cut = r.steps[:len(r.steps)+r.cut], 0
	}
}

// count counts what each step launched and ran.
func (r *rank) count() {
	for i := range r.ops {
		if o := &r.ops[i]; o.step >= 0 && o.cat == trace.Kernel {
			r.steps[o.step].kernels++
		}
	}
	for i := range r.calls {
		if c := &r.calls[i]; c.step >= 0 {
			st := &r.steps[c.step]
			st.launches++
			if c.graph {
				st.graphs++
			}
		}
	}
}

// stepAt is the step that holds a moment of the host, -1 for none. Steps do
// not overlap.
func (r *rank) stepAt(at int64) int32 {
	i, ok := slices.BinarySearchFunc(r.steps, at, func(s step, at int64) int { return cmp.Compare(s.start, at) })
	if !ok {
		i--
	}
	if i < 0 || at >= r.steps[i].end {
		return -1
	}
	return int32(i)
}

// period is the time from a step's start to the next one's, on the host; for
// the last step its own length, or until its last op ends if that is later.
func (r *rank) period(i int) int64 {
	if i+1 < len(r.steps) {
		return r.steps[i+1].start - r.steps[i].start
	}
	end := r.steps[i].end
	if n := len(r.ops); n > 0 {
		end = max(end, r.ops[n-1].end)
	}
	return end - r.steps[i].start
}

// outsideSteps is the kind of what no step holds.
const outsideSteps = trace.StepKind(255)

func kindName(k trace.StepKind) string {
	if k == outsideSteps {
		return "outside"
	}
	return k.String()
}

func (r *rank) kindAt(step int32) trace.StepKind {
	if step < 0 {
		return outsideSteps
	}
	return r.steps[step].info.Kind
}

package explain

import "github.com/stepscope/stepscope/trace"

// findSteps cuts a trace into forward passes.
func findSteps(t *trace.Trace) ([]step, string) {
	passes, rule := trace.Passes(t)
	steps := make([]step, len(passes))
	for i, p := range passes {
		steps[i] = step{start: p.Start, end: p.End, info: p.Step, name: p.Name, track: p.Track, requests: p.Requests}
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

package export

import "github.com/stepscope/stepscope/trace"

// step is one forward pass, with pointers to its figures for use in rows. A nil pointer means unknown.
type step struct {
	trace.Pass
	number, batch, tokens *int32
}

// findSteps cuts a trace into forward passes. Passes are numbered from 0 in the order of their start times.
func findSteps(t *trace.Trace) (passes []trace.Pass, steps []step, rule string) {
	passes, rule = trace.Passes(t)
	steps = make([]step, len(passes))
	for i, p := range passes {
		steps[i] = step{Pass: p, number: said(i), batch: said(p.Step.Batch), tokens: said(p.Step.Tokens)}
	}
	return passes, steps, rule
}

// said returns a pointer to n, or nil if n is negative, which means unknown.
func said(n int) *int32 {
	if n < 0 {
		return nil
	}
	return new(int32(n))
}

package explaintest

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// StepsOnly returns a set in which one rank has only some of its steps.
func StepsOnly(set []*trace.Trace, rank, first, last int) []*trace.Trace {
	out := retime.Copy(set)
	retime.Keep(out[rank], first, last)
	return out
}

// DropSteps removes some steps of a trace: their annotations, launches and ops.
func DropSteps(ts *trace.Trace, drop func(n, of int) bool) *trace.Trace {
	t := retime.Copy([]*trace.Trace{ts})[0]
	r := prep.Trace(t, nil)
	gone := make([]bool, len(t.Spans))
	out := func(at int64) bool {
		n := r.StepAt(at)
		return n >= 0 && drop(int(n), len(r.Steps))
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; !s.Cat.OnGPU() && s.Cat != trace.Window {
			gone[i] = out(s.Start)
		}
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		gone[o.Span] = o.Step >= 0 && drop(int(o.Step), len(r.Steps))
	}
	kept := t.Spans[:0]
	for i, s := range t.Spans {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	t.Spans = kept
	return t
}

// DropKernels returns a set in which the recording lost a share of a rank's kernels from its n-th kernel on.
func DropKernels(set []*trace.Trace, rank int, share float64, from int) []*trace.Trace {
	out, rng, n := retime.Copy(set), rand.New(rand.NewPCG(7, 7)), 0
	out[rank].Spans = slices.DeleteFunc(out[rank].Spans, func(s trace.Span) bool {
		if s.Cat == trace.Kernel {
			n++
		}
		return s.Cat == trace.Kernel && n > from && rng.Float64() < share
	})
	return out
}

// WithoutFrames removes the Python stacks.
func WithoutFrames(t *trace.Trace) {
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.PythonFunction })
}

// CPUOnly removes the GPU work.
func CPUOnly(t *trace.Trace) {
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat.OnGPU() })
}

// Unnamed removes the annotations of all steps but the first few.
func Unnamed(ts []*trace.Trace, keep int) []*trace.Trace {
	for _, t := range ts {
		n := 0
		t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool {
			_, step := trace.ParseStep(t.Strings.Get(s.Name))
			if step = step && !s.Cat.OnGPU(); step {
				n++
			}
			return step && n > keep
		})
	}
	return ts
}

// Jump sets the clock of a rank back by ns after the given share of its recording.
func Jump(t *trace.Trace, after float64, ns int64) {
	first, last := t.Spans[0].Start, t.Spans[0].Start
	for _, s := range t.Spans {
		first, last = min(first, s.Start), max(last, s.Start)
	}
	from := first + int64(after*float64(last-first))
	for i := range t.Spans {
		if t.Spans[i].Start >= from {
			t.Spans[i].Start -= ns
		}
	}
	slices.SortStableFunc(t.Spans, func(x, y trace.Span) int { return cmp.Compare(x.Start, y.Start) })
}

// StretchTimes multiplies all times of a trace by a factor.
func StretchTimes(tr *trace.Trace, by float64) {
	origin := tr.Spans[0].Start
	for i := range tr.Spans {
		origin = min(origin, tr.Spans[i].Start)
	}
	for i := range tr.Spans {
		s := &tr.Spans[i]
		s.Start = origin + int64(float64(s.Start-origin)*by)
		s.Dur = int64(float64(s.Dur) * by)
	}
}

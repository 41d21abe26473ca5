package retime

import (
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Copy returns a copy of the traces. The caller may modify the copy.
func Copy(ts []*trace.Trace) []*trace.Trace { return clone(ts) }

// Clock shifts a rank's clock by ns at the first span. After the first span, the clock drifts by drift ns per ns.
func Clock(t *trace.Trace, ns int64, drift float64) {
	if len(t.Spans) == 0 {
		return
	}
	first := t.Spans[0].Start
	for i := range t.Spans {
		first = min(first, t.Spans[i].Start)
	}
	wall := func(at int64) int64 { return at + ns + int64(drift*float64(at-first)) }
	for i := range t.Spans {
		s := &t.Spans[i]
		start, end := wall(s.Start), wall(s.End())
		s.Start, s.Dur = start, end-start
	}
	for i := range t.Memory {
		t.Memory[i].Time = wall(t.Memory[i].Time)
	}
	sortSpans(t)
}

// DropLaunches removes a random share of the launch calls; share 1 removes all of them.
func DropLaunches(t *trace.Trace, share float64, seed uint64) {
	on := map[int64]bool{}
	for i := range t.Spans {
		if t.Spans[i].Cat.OnGPU() {
			on[t.Spans[i].Corr] = true
		}
	}
	random := rand.New(rand.NewPCG(seed, 1))
	lost := map[int64]bool{}
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool {
		if !s.Cat.Launch() || !on[s.Corr] {
			return false
		}
		gone, known := lost[s.Corr]
		if !known {
			gone = random.Float64() < share
			lost[s.Corr] = gone
		}
		return gone
	})
}

// Keep keeps the steps from first to last and the events between these steps. The result is the trace of a window that
// contains only these steps.
func Keep(t *trace.Trace, first, last int) {
	r := prep.Trace(t, nil)
	from, to := r.Steps[first].Start, r.Steps[last].End
	gone := make([]bool, len(t.Spans))
	for i := range t.Spans {
		if s := &t.Spans[i]; !s.Cat.OnGPU() && s.Cat != trace.Window {
			gone[i] = s.Start < from || s.Start >= to
		}
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		at := o.Start
		if o.Call >= 0 {
			at = r.Calls[o.Call].Start
		}
		gone[o.Span] = at < from || at >= to
	}
	kept := t.Spans[:0]
	for i, s := range t.Spans {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	t.Spans = kept
}

// Rename renames GPU work. The function rename returns the new name, which may be the same as the old name.
func Rename(t *trace.Trace, rename func(name string) string) {
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.OnGPU() {
			if old := t.Strings.Get(s.Name); rename(old) != old {
				s.Name = t.Strings.Intern([]byte(rename(old)))
			}
		}
	}
}

// Insert adds a span to a trace, such as a frame around part of a thread.
func Insert(t *trace.Trace, s trace.Span) {
	t.Spans = append(t.Spans, s)
	sortSpans(t)
}

package analysis

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// The rules that cut steps, in the order tried.
const (
	ruleAnnotations = "forward annotations"
	ruleProfiler    = "ProfilerStep annotations"
	ruleGraphs      = "CUDA graph launches"
	ruleNone        = "none: the whole window is one step"
)

// findSteps cuts a trace into forward passes. Nested matches keep the
// outermost: a draft model's step is part of the target's.
func findSteps(t *trace.Trace) ([]step, string) {
	var forward, profiler []step
	known := map[trace.StringID]*trace.Step{}
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.UserAnnotation {
			continue
		}
		info, seen := known[s.Name]
		if !seen {
			if p, ok := trace.ParseStep(t.Strings.Get(s.Name)); ok {
				info = &p
			}
			known[s.Name] = info
		}
		if info == nil {
			continue
		}
		st := step{start: s.Start, end: s.End(), info: *info, name: s.Name, track: s.Track}
		if info.Mode == "ProfilerStep" {
			profiler = append(profiler, st)
		} else {
			forward = append(forward, st)
		}
	}
	if len(forward) > 0 {
		return outermost(forward), ruleAnnotations
	}
	if len(profiler) > 0 {
		return outermost(profiler), ruleProfiler
	}
	if replays := graphSteps(t); len(replays) > 1 {
		return replays, ruleGraphs
	}
	return nil, ruleNone
}

// outermost orders steps by start and drops those that begin inside another.
func outermost(steps []step) []step {
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	kept := steps[:0]
	for _, s := range steps {
		if n := len(kept); n > 0 && s.start < kept[n-1].end {
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// graphSteps takes each graph launch as the beginning of a decode step; what
// is launched until the next belongs to it.
func graphSteps(t *trace.Trace) []step {
	var steps []step
	last := int64(0)
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat.Launch() {
			last = max(last, s.End())
			if isGraphLaunch(t.Strings.Get(s.Name)) {
				steps = append(steps, step{
					start: s.Start, track: s.Track,
					info: trace.Step{Kind: trace.Decode, Mode: "graph", Batch: -1, Tokens: -1}, name: s.Name,
				})
			}
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.start, b.start) })
	for i := range steps {
		steps[i].end = last
		if i+1 < len(steps) {
			steps[i].end = steps[i+1].start
		}
	}
	return steps
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

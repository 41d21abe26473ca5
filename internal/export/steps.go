package export

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// The rules that cut steps, in the order tried: those of the analysis.
const (
	ruleAnnotations = "forward annotations"
	ruleProfiler    = "ProfilerStep annotations"
	ruleGraphs      = "CUDA graph launches"
	ruleNone        = "none"
)

// step is one forward pass on the launching thread.
type step struct {
	start, end int64 // ns since the epoch
	info       trace.Step
	name       trace.StringID
	track      trace.TrackID
	// number, batch and tokens as a row points to them; nil: not said.
	number, batch, tokens *int32
}

// findSteps cuts a trace into forward passes, numbered by their start from 0.
// Nested ones keep the outermost: a draft model's step is part of the
// target's.
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
	steps, rule := graphSteps(t), ruleGraphs
	switch {
	case len(forward) > 0:
		steps, rule = outermost(forward), ruleAnnotations
	case len(profiler) > 0:
		steps, rule = outermost(profiler), ruleProfiler
	case len(steps) < 2:
		return nil, ruleNone
	}
	for i := range steps {
		s := &steps[i]
		s.number = said(i)
		s.batch, s.tokens = said(s.info.Batch), said(s.info.Tokens)
	}
	return steps, rule
}

// said points to a number; a negative one was not said.
func said(n int) *int32 {
	if n < 0 {
		return nil
	}
	v := int32(n)
	return &v
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
		if !s.Cat.Launch() {
			continue
		}
		last = max(last, s.End())
		switch t.Strings.Get(s.Name) {
		case "cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_ptsz", "cuGraphLaunch_ptsz":
			steps = append(steps, step{
				start: s.Start, track: s.Track, name: s.Name,
				info: trace.Step{Kind: trace.Decode, Mode: "graph", Batch: -1, Tokens: -1},
			})
		}
	}
	// One launch can show as a runtime and, inside it, a driver call.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.start, b.start) })
	for i := range steps {
		steps[i].end = last
		if i+1 < len(steps) {
			steps[i].end = steps[i+1].start
		}
	}
	return steps
}

// stepAt is the step that holds a moment of the host, -1 for none.
func stepAt(steps []step, at int64) int32 {
	i, ok := slices.BinarySearchFunc(steps, at, func(s step, at int64) int { return cmp.Compare(s.start, at) })
	if !ok {
		i--
	}
	if i < 0 || at >= steps[i].end {
		return -1
	}
	return int32(i)
}

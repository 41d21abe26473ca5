package timeline

import (
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// mostInside is the maximum number of launches that are listed for an op. A step has thousands.
const mostInside = 12

// flow adds to out the CPU op of a launch or, for another span of a thread, the launches inside it. launch is the launch
// of GPU work, or else the span itself.
func (t *Timeline) flow(out *Selected, launch int32) {
	r := t.ranks[out.Rank]
	s := &r.t.Spans[launch]
	switch {
	case s.Cat.Launch():
		at := slices.IndexFunc(out.Around, func(l Link) bool { return r.t.Spans[l.Span].Cat == trace.CPUOp })
		if at >= 0 {
			op := out.Around[at]
			out.Op = &op
		}
	case s.Cat == trace.CPUOp || s.Cat == trace.UserAnnotation || s.Cat == trace.PythonFunction:
		t.launchedIn(out, s)
	}
}

// launchedIn adds to out the GPU work that was launched inside a span of a thread.
func (t *Timeline) launchedIn(out *Selected, s *trace.Span) {
	r := t.ranks[out.Rank]
	for i := firstCall(r, s); i < len(r.callOf) && r.t.Spans[r.callOf[i].span].Track == s.Track; i++ {
		c := &r.Calls[r.callOf[i].at]
		if c.Start >= s.End() {
			break
		}
		if c.Op < 0 {
			continue
		}
		out.Launches += int(c.Ops)
		if len(out.Calls) < mostInside {
			out.Calls = append(out.Calls, t.link(out.Rank, c.Span))
			out.Launched = append(out.Launched, t.link(out.Rank, r.Ops[c.Op].Span))
		}
	}
}

// firstCall returns the index in callOf of the first launch on the thread of s that begins at or after the start of s.
func firstCall(r *rank, s *trace.Span) int {
	i, _ := slices.BinarySearchFunc(r.callOf, s, func(c spanAt, s *trace.Span) int {
		of := &r.t.Spans[c.span]
		if of.Track != s.Track {
			return int(of.Track) - int(s.Track)
		}
		if of.Start < s.Start {
			return -1
		}
		return 1
	})
	return i
}

package timeline

import (
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// mostFlows is the maximum number of arrows of a span.
const mostFlows = 60

// flows adds to out the CPU op of a launch, and the arrows of the span. launch is the launch of GPU work, or else the
// span itself. For a CPU op or an annotation, flows also lists the GPU work that was launched inside it.
func (t *Timeline) flows(out *Selected, launch int32) {
	r := t.ranks[out.Rank]
	s := &r.t.Spans[launch]
	own := out.Link
	if s.Cat.Launch() {
		for i := range out.Around {
			if in := &out.Around[i]; r.t.Spans[in.Span].Cat == trace.CPUOp {
				out.Op = in
				break
			}
		}
	}
	arrow := func(from, to Link) {
		if len(out.Flows) < mostFlows {
			out.Flows = append(out.Flows, [2]Link{from, to})
		}
	}
	switch {
	case out.Launch != nil:
		if out.Op != nil {
			arrow(*out.Op, *out.Launch)
		}
		arrow(*out.Launch, own)
	case out.Launches > 0:
		if out.Op != nil {
			arrow(*out.Op, own)
		}
		for _, l := range out.Launched {
			arrow(own, l)
		}
	case s.Cat == trace.CPUOp || s.Cat == trace.UserAnnotation || s.Cat == trace.PythonFunction:
		t.launchedIn(out, s, arrow)
	}
}

// launchedIn adds to out the GPU work that was launched inside a span of a thread, and its arrows.
func (t *Timeline) launchedIn(out *Selected, s *trace.Span, arrow func(from, to Link)) {
	r := t.ranks[out.Rank]
	for i := t.firstCall(r, s); i < len(r.callOf) && r.t.Spans[r.callOf[i].span].Track == s.Track; i++ {
		call := r.callOf[i].at
		c := &r.Calls[call]
		if c.Start >= s.End() {
			break
		}
		if c.Op < 0 {
			continue
		}
		launch := t.link(out.Rank, c.Span)
		arrow(out.Link, launch)
		out.Launches += int(c.Ops)
		for op := int(c.Op); op < len(r.Ops) && op < int(c.Op)+int(c.Ops) && len(out.Launched) < MostLaunched; op++ {
			if r.Ops[op].Call == call {
				l := t.link(out.Rank, r.Ops[op].Span)
				out.Launched = append(out.Launched, l)
				arrow(launch, l)
			}
		}
	}
}

// firstCall returns the index in callOf of the first launch on the thread of s that begins at or after the start of s.
func (t *Timeline) firstCall(r *rank, s *trace.Span) int {
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

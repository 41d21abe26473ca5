package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// rows gives the spans of each track as a range of Spans, which are sorted by track.
func rows(t *trace.Trace) []interval {
	out := make([]interval, len(t.Tracks))
	for i := 0; i < len(t.Spans); {
		j := i
		for j < len(t.Spans) && t.Spans[j].Track == t.Spans[i].Track {
			j++
		}
		out[t.Spans[i].Track] = interval{int64(i), int64(j)}
		i = j
	}
	return out
}

// hostDid says what the thread of a launch did between two moments: the
// deepest span that covers most of the time, or the ops that fill it.
func (r *rank) hostDid(c *call, from, to int64) string {
	t := r.t
	if r.rows == nil {
		r.rows = rows(t)
	}
	// The idle time may begin before the host came to this work at all: look
	// at what lies between the launch before and this one.
	row := r.rows[c.track]
	spans := t.Spans[row.start:row.end]
	hi, _ := slices.BinarySearchFunc(spans, to, func(s trace.Span, at int64) int { return cmp.Compare(s.Start, at) })
	length := to - from
	if length <= 0 {
		return "the launch call itself"
	}
	var cover *trace.Span // the shortest span over most of it
	var filled int64      // by spans that begin inside, outermost only
	var largest *trace.Span
	var largestIn, inner int64
	count, reach := 0, from
	for i := range spans[:hi] {
		s := &spans[i]
		in := min(s.End(), to) - max(s.Start, from)
		if in <= 0 {
			continue
		}
		if in*10 >= length*6 && (cover == nil || s.Dur < cover.Dur) {
			cover = s
		}
		if s.Start >= from && s.Start >= reach && !(s.Cat == trace.UserAnnotation && s.End() > to) {
			filled += in
			count++
			reach = s.End()
		}
		if s.Start >= from && in > largestIn && (s.Cat == trace.CPUOp || s.Cat.Launch() || s.Cat == trace.UserAnnotation) {
			largest, largestIn = s, in
		}
	}
	inner = filled
	name := func(s *trace.Span) string {
		kind := map[trace.Category]string{
			trace.PythonFunction: "python", trace.UserAnnotation: "annotation", trace.CPUOp: "op",
			trace.Runtime: "call", trace.Driver: "call",
		}[s.Cat]
		return fmt.Sprintf("%s %s", kind, r.spanName(s.Name, false))
	}
	switch {
	case cover != nil && (inner*2 < length || cover.Cat == trace.PythonFunction || cover.Start >= from):
		if inner*2 < length && cover.End() > to && cover.Cat == trace.UserAnnotation {
			return fmt.Sprintf("nothing recorded for %s (inside %s)", metric.Duration(length-inner), name(cover))
		}
		return name(cover)
	case inner*2 >= length && largest != nil:
		return fmt.Sprintf("%d ops, the longest %s (%s)", count, name(largest), metric.Duration(largest.Dur))
	case cover != nil:
		return "inside " + name(cover)
	}
	return fmt.Sprintf("nothing recorded for %s: off the CPU, or code without annotations", metric.Duration(length-inner))
}

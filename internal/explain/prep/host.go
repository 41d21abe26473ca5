package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// Host is the CPU side of a rank's trace, for those few questions whose answers
// no summary holds: what a thread did at a moment that only the comparison of
// ranks singles out.
type Host struct {
	t     *trace.Trace
	rows  [][]trace.Span // of each track
	marks *Markers       // nil without layer-wise markers
	ops   bool           // CPU ops or Python functions were recorded
}

func NewHost(t *trace.Trace) *Host {
	h := &Host{t: t, rows: make([][]trace.Span, len(t.Tracks)), ops: slices.ContainsFunc(t.Spans, isHostOp)}
	for i := 0; i < len(t.Spans); { // sorted by track
		j := i
		for j < len(t.Spans) && t.Spans[j].Track == t.Spans[i].Track {
			j++
		}
		h.rows[t.Spans[i].Track] = t.Spans[i:j]
		i = j
	}
	return h
}

// Names is how many names there are: StringIDs are less.
func (h *Host) Names() int { return h.t.Strings.Len() }

// CallName is the name of the API call that a launch was.
func (h *Host) CallName(c *Call) string { return h.t.Strings.Get(h.t.Spans[c.span].Name) }

// isHostOp tells what is recorded where a window has the CPU's activities.
func isHostOp(s trace.Span) bool { return s.Cat == trace.CPUOp || s.Cat == trace.PythonFunction }

// Did says what the thread of a launch did between two moments: the
// deepest span that covers most of the time, or the ops that fill it;
// nothing if a thread's doings were not recorded.
func (h *Host) Did(c *Call, from, to int64) fact.Fact {
	// The idle time may begin before the host came to this work at all: look
	// at what lies between the launch before and this one.
	spans := h.rows[c.Track]
	hi, _ := slices.BinarySearchFunc(spans, to, func(s trace.Span, at int64) int { return cmp.Compare(s.Start, at) })
	length := to - from
	if length <= 0 {
		return fact.Of("did_launch")
	}
	var cover *trace.Span // the shortest span over most of it
	var filled int64      // by spans that begin inside, outermost only
	var largest *trace.Span
	var largestIn int64
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
	name := func(s *trace.Span) string {
		kind := map[trace.Category]string{
			trace.PythonFunction: "python", trace.UserAnnotation: "annotation", trace.CPUOp: "op",
			trace.Runtime: "call", trace.Driver: "call",
		}[s.Cat]
		return kind + " " + h.SpanName(s.Name, false)
	}
	switch {
	case cover != nil && (filled*2 < length || cover.Cat == trace.PythonFunction || cover.Start >= from):
		if filled*2 < length && cover.End() > to && cover.Cat == trace.UserAnnotation {
			return fact.Of("did_nothing_inside", "ns", length-filled, "span", name(cover))
		}
		return fact.Name(name(cover))
	case filled*2 >= length && largest != nil:
		return fact.Of("did_ops", "n", count, "span", name(largest), "ns", largest.Dur)
	case cover != nil:
		return fact.Of("did_inside", "span", name(cover))
	case !h.ops: // nor would anything else be
		return fact.Fact{}
	}
	return fact.Of("did_nothing", "ns", length-filled)
}

// SpanName is a span's name; of a layer-wise marker, which has sizes in its text,
// the module alone, or its kind in any layer.
func (h *Host) SpanName(id trace.StringID, anyLayer bool) string {
	name := h.t.Strings.Get(id)
	if h.marks == nil {
		return name
	}
	at, ok := h.marks.byText[name]
	if !ok || h.marks.Texts[at].module < 0 {
		return name
	}
	mod := &h.marks.Modules[h.marks.Texts[at].module]
	if anyLayer {
		return h.marks.Groups[mod.Group].Name()
	}
	return mod.path
}

// Nest visits the spans of the wanted categories with the one around each, nil
// for none, by containment per thread. dur is the length: of children that stick
// out of their parent by a few ns what lies inside.
func (h *Host) Nest(want func(trace.Category) bool, visit func(s, parent *trace.Span, dur int64)) {
	type open struct {
		span *trace.Span
		end  int64
	}
	var stack []open
	for i := range h.t.Spans {
		s := &h.t.Spans[i]
		if !want(s.Cat) {
			continue
		}
		for len(stack) > 0 {
			if top := stack[len(stack)-1]; top.span.Track == s.Track && s.Start < top.end {
				break
			}
			stack = stack[:len(stack)-1]
		}
		dur, parent := s.Dur, (*trace.Span)(nil)
		if len(stack) > 0 {
			top := stack[len(stack)-1]
			parent, dur = top.span, min(dur, top.end-s.Start)
		}
		visit(s, parent, dur)
		stack = append(stack, open{s, s.Start + dur})
	}
}

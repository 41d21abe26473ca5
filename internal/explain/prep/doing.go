package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// Doing is the activity of a thread over an interval.
type Doing struct {
	Kind   DoingKind
	N      int            // spans
	NS     int64          // duration; the meaning depends on Kind
	Cat    trace.Category // category of the span
	Called string         // name of the span
}

// DoingKind is the kind of a Doing.
type DoingKind uint8

// NotKnown means that the activity of the thread was not recorded.
const (
	NotKnown       DoingKind = iota
	DidLaunch                // nothing but the launch itself
	DidNothingOpen           // nothing for NS while the span was open
	DidSpan                  // ran the span
	DidSpans                 // ran N spans, of which Called is the longest, with a length of NS
	DidInside                // ran something inside the span
	DidNothing               // nothing for NS
)

// Fact converts d to a fact. marks are the capture's layer-wise markers, or nil if it has none.
func (d *Doing) Fact(marks *Markers) fact.Fact {
	name := ""
	if d.Called != "" {
		name = map[trace.Category]string{
			trace.PythonFunction: "python", trace.UserAnnotation: "annotation", trace.CPUOp: "op",
			trace.Runtime: "call", trace.Driver: "call",
		}[d.Cat] + " " + marks.SpanName(d.Called, false)
	}
	switch d.Kind {
	case DidLaunch:
		return fact.Of("did_launch")
	case DidNothingOpen:
		return fact.Of("did_nothing_inside", "ns", d.NS, "span", name)
	case DidSpan:
		return fact.Name(name)
	case DidSpans:
		return fact.Of("did_ops", "n", d.N, "span", name, "ns", d.NS)
	case DidInside:
		return fact.Of("did_inside", "span", name)
	case DidNothing:
		return fact.Of("did_nothing", "ns", d.NS)
	}
	return fact.Fact{}
}

// did returns the activity of a thread between two moments: the deepest span that covers most of the time, or the ops
// that together fill most of that time. It returns NotKnown if the thread was not recorded.
func (h *host) did(track trace.TrackID, from, to int64) Doing {
	// Device idle time may begin before the host reaches the work of this launch, so callers pass the time between the
	// previous launch and this one.
	spans, ends := h.rows[track], h.endsOf(track)
	starts := func(s trace.Span, at int64) int { return cmp.Compare(s.Start, at) }
	lo, _ := slices.BinarySearchFunc(spans, from, starts)
	hi, _ := slices.BinarySearchFunc(spans, to, starts)
	length := to - from
	if length <= 0 {
		return Doing{Kind: DidLaunch}
	}
	var cover *trace.Span // the shortest span that covers most of the time
	var filled int64      // time filled by outermost spans that begin within it
	var largest *trace.Span
	var largestIn int64
	count, reach := 0, from
	for i := 0; i < hi; i++ {
		if i%large == 0 && i+large <= lo && ends.large[i/large] <= from {
			i += large - 1 // all spans of the block ended before from
			continue
		}
		if i%block == 0 && i+block <= lo && ends.blocks[i/block] <= from {
			i += block - 1
			continue
		}
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
	of := func(kind DoingKind, s *trace.Span, n int, ns int64) Doing {
		return Doing{Kind: kind, N: n, NS: ns, Cat: s.Cat, Called: h.t.Strings.Get(s.Name)}
	}
	switch {
	case cover != nil && (filled*2 < length || cover.Cat == trace.PythonFunction || cover.Start >= from):
		if filled*2 < length && cover.End() > to && cover.Cat == trace.UserAnnotation {
			return of(DidNothingOpen, cover, 0, length-filled)
		}
		return of(DidSpan, cover, 0, 0)
	case filled*2 >= length && largest != nil:
		return of(DidSpans, largest, count, largest.Dur)
	case cover != nil:
		return of(DidInside, cover, 0, 0)
	case !h.ops: // no host activity was recorded, so an empty interval shows nothing
		return Doing{}
	}
	return Doing{Kind: DidNothing, NS: length - filled}
}

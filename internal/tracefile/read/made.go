package read

import (
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// made is what spans of one shape have in common.
type made struct {
	span trace.Span // but for its times, Corr and Ext, and Detail of GPU work
	op   trace.Op   // of GPU work, but for Bytes
	// Where in Event.Known numbers are told that each event has its own of; -1: not at all.
	corr, ext, bytes int
}

// keep notes what the event's shape says of all that have it. Collectives and
// moves are told apart by more than their text.
func (b *builder) keep(e *chromejson.Event, s trace.Span) {
	m := made{span: s, corr: -1, ext: -1, bytes: -1}
	if s.Cat.OnGPU() {
		if m.op = b.t.Ops[s.Detail]; m.op.Comm >= 0 || m.op.Move > 0 {
			return
		}
	}
	if linked(s.Cat) {
		for i := range e.Known {
			switch e.Known[i].Key {
			case chromejson.ArgCorrelation:
				m.corr = i
			case chromejson.ArgExternalID:
				m.ext = i
			case chromejson.ArgBytes:
				m.bytes = i
			}
		}
	}
	if e.Shape >= len(b.ofShape) {
		b.ofShape = append(b.ofShape, make([]uint16, e.Shape+1-len(b.ofShape))...)
	}
	b.made = append(b.made, m)
	b.ofShape[e.Shape] = uint16(len(b.made)) // of shapes there are fewer than that holds
}

// as gives what spans of the event's shape have in common; nil: it is not known.
func (b *builder) as(e *chromejson.Event) *made {
	if e.Shape < len(b.ofShape) && b.ofShape[e.Shape] > 0 {
		return &b.made[b.ofShape[e.Shape]-1]
	}
	return nil
}

// again adds a span of a known shape.
func (b *builder) again(e *chromejson.Event, m *made, start, dur int64) {
	s := b.spans.add()
	*s = m.span
	s.Start, s.Dur = start, dur
	if m.corr >= 0 {
		s.Corr, _ = e.Int(e.Known[m.corr].At)
	}
	if m.ext >= 0 {
		s.Ext, _ = e.Int(e.Known[m.ext].At)
	}
	if !s.Cat.OnGPU() {
		return
	}
	b.trackOps[s.Track]++
	s.Detail = int32(len(b.t.Ops))
	if len(b.t.Ops) == cap(b.t.Ops) { // there are many: append grows by little
		b.t.Ops = slices.Grow(b.t.Ops, len(b.t.Ops))
	}
	b.t.Ops = append(b.t.Ops, m.op)
	if m.bytes >= 0 {
		b.t.Ops[s.Detail].Bytes, _ = e.Int(e.Known[m.bytes].At)
	}
}

package read

import (
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// made holds the properties that all spans of one shape share.
type made struct {
	span trace.Span // without times, Corr and Ext, and without Detail for GPU work
	op   trace.Op   // for GPU work, without Bytes
	// corr, ext and bytes are the indices in Event.Known of the numbers that vary between events; -1: absent.
	corr, ext, bytes int
}

// keep stores the common properties of the event's shape. It skips collectives and moves, because each of these has a
// separate entry in the trace.
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
	b.ofShape[e.Shape] = uint16(len(b.made)) // cannot overflow: there are fewer shapes than 1<<16
}

// as returns the common properties of the event's shape, or nil if they are not stored.
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
	if len(b.t.Ops) == cap(b.t.Ops) { // append grows large slices by too little
		b.t.Ops = slices.Grow(b.t.Ops, len(b.t.Ops))
	}
	b.t.Ops = append(b.t.Ops, m.op)
	if m.bytes >= 0 {
		b.t.Ops[s.Detail].Bytes, _ = e.Int(e.Known[m.bytes].At)
	}
}

package pftrace

import (
	"bytes"
	"math"
)

type argKind uint8

const (
	argInt argKind = iota
	argUint
	argFloat
	argBool
	argString
	argJSON
)

type arg struct {
	name []byte
	text []byte // string and JSON
	bits uint64 // all others
	kind argKind
}

// Args are the arguments of an event, shown beside it ("debug annotations").
// The zero value is ready to use; Reset it for the next event. Names and texts
// are referred to, not copied: they must stay as they are until the event has
// been written.
type Args struct{ list []arg }

// Reset removes all arguments and keeps the memory.
func (a *Args) Reset() { a.list = a.list[:0] }

// Int adds a signed integer.
func (a *Args) Int(name []byte, v int64) { a.list = append(a.list, arg{name, nil, uint64(v), argInt}) }

// Uint adds an unsigned integer.
func (a *Args) Uint(name []byte, v uint64) { a.list = append(a.list, arg{name, nil, v, argUint}) }

// Float adds a floating-point number.
func (a *Args) Float(name []byte, v float64) {
	a.list = append(a.list, arg{name, nil, math.Float64bits(v), argFloat})
}

// Bool adds a truth value.
func (a *Args) Bool(name []byte, v bool) {
	var bits uint64
	if v {
		bits = 1
	}
	a.list = append(a.list, arg{name, nil, bits, argBool})
}

// String adds a text.
func (a *Args) String(name, v []byte) { a.list = append(a.list, arg{name, v, 0, argString}) }

// JSON adds a value given as JSON text, an array or object as a rule, which
// readers unfold into name.key and name[0]. They show nothing for empty ones,
// and a lone null crashes trace_processor (InsertLeaf, since v52 at the latest,
// in src/trace_processor/util/json_args.cc), so these become texts.
func (a *Args) JSON(name, v []byte) {
	kind := argJSON
	switch v = bytes.TrimSpace(v); string(v) {
	case "", "null", "[]", "{}":
		kind = argString
	}
	a.list = append(a.list, arg{name, v, 0, kind})
}

// appendArgs writes the arguments as TrackEvent.debug_annotations.
func (w *Writer) appendArgs(m []byte, a *Args) []byte {
	for i := range a.list {
		g := &a.list[i]
		s := appendUint(w.sub[:0], annotationNameIID, w.in.id(&w.in.argNames, g.name))
		switch g.kind {
		case argInt:
			s = appendUint(s, annotationIntValue, g.bits)
		case argUint:
			s = appendUint(s, annotationUintValue, g.bits)
		case argFloat:
			s = appendFixed64(s, annotationDoubleValue, g.bits)
		case argBool:
			s = appendUint(s, annotationBoolValue, g.bits)
		case argString:
			if id := w.in.value(g.text); id != 0 {
				s = appendUint(s, annotationStringValueIID, id)
			} else {
				s = appendBytes(s, annotationStringValue, g.text)
			}
		case argJSON:
			s = appendBytes(s, annotationLegacyJSONValue, g.text)
		}
		w.sub = s
		m = appendBytes(m, eventDebugAnnotations, s)
	}
	return m
}

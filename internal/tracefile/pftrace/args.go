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
	bits uint64 // value of all other kinds
	kind argKind
	// written is the encoded argument. It may be reused while the generation of interned strings is gen.
	written []byte
	gen     int
	varies  bool
}

// Args are the arguments of an event ("debug annotations"). The zero value is ready to use. Call Reset before adding
// the arguments of the next event. Names and texts are not copied: they must stay unchanged until the event has been
// written.
type Args struct {
	list []arg
	kept bool
}

// Keep announces that the arguments will be written many times, and that only Set will change them between two writes.
func (a *Args) Keep() { a.kept = true }

// Len returns the number of arguments.
func (a *Args) Len() int { return len(a.list) }

// Set replaces the value of argument i. It returns false if argument i is not a signed integer.
func (a *Args) Set(i int, v int64) bool {
	g := &a.list[i]
	g.bits, g.varies = uint64(v), true
	return g.kind == argInt
}

// Reset removes all arguments and keeps the memory.
func (a *Args) Reset() { a.list = a.list[:0] }

// Int adds a signed integer.
func (a *Args) Int(name []byte, v int64) {
	a.list = append(a.list, arg{name: name, bits: uint64(v), kind: argInt})
}

// Uint adds an unsigned integer.
func (a *Args) Uint(name []byte, v uint64) {
	a.list = append(a.list, arg{name: name, bits: v, kind: argUint})
}

// Float adds a floating-point number.
func (a *Args) Float(name []byte, v float64) {
	a.list = append(a.list, arg{name: name, bits: math.Float64bits(v), kind: argFloat})
}

// Bool adds a boolean.
func (a *Args) Bool(name []byte, v bool) {
	var bits uint64
	if v {
		bits = 1
	}
	a.list = append(a.list, arg{name: name, bits: bits, kind: argBool})
}

// String adds a text.
func (a *Args) String(name, v []byte) {
	a.list = append(a.list, arg{name: name, text: v, kind: argString})
}

// JSON adds a value as JSON text, usually an array or object, which readers unfold into name.key and name[0]. Readers
// show nothing for an empty array or object. A value that is only null has crashed trace_processor since v52 at the
// latest (InsertLeaf in src/trace_processor/util/json_args.cc). So JSON adds such values as strings.
func (a *Args) JSON(name, v []byte) {
	kind := argJSON
	switch v = bytes.TrimSpace(v); string(v) {
	case "", "null", "[]", "{}":
		kind = argString
	}
	a.list = append(a.list, arg{name: name, text: v, kind: kind})
}

// appendArgs writes the arguments as TrackEvent.debug_annotations.
func (w *Writer) appendArgs(m []byte, a *Args) []byte {
	for i := range a.list {
		g := &a.list[i]
		if g.written != nil && g.gen == w.in.gen {
			m = append(m, g.written...)
			continue
		}
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
		at := len(m)
		m = appendBytes(m, eventDebugAnnotations, s)
		if a.kept && !g.varies {
			g.written, g.gen = bytes.Clone(m[at:]), w.in.gen
		}
	}
	return m
}

package timeline

import (
	"encoding/binary"
	"slices"
)

// An exported page draws its own tiles, from all spans of all lanes:
//
//	lanes u32; of each lane: length in bytes u32; spans uvarint, waits u8 (0: none); then the columns, each of which has
//	one value per span: gap to the end of the span before (or to 0), duration, span (difference to the span before,
//	zigzag), name, class u8, flags u8 and, if the lane has waits, wait. Values without a type are uvarints. Times are ns
//	since the origin.
//
// The columns of a span take about 4 bytes when they are compressed; tiles of all levels take about 70.

// Spans returns the columns of all lanes.
func (t *Timeline) Spans() []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(t.lanes)))
	for _, l := range t.lanes {
		at := len(out)
		out = append(out, 0, 0, 0, 0)
		out = t.appendLane(out, l)
		binary.LittleEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	}
	return out
}

func (t *Timeline) appendLane(out []byte, l *lane) []byte {
	r := t.ranks[l.rank]
	out = binary.AppendUvarint(out, uint64(len(l.start)))
	waits := slices.ContainsFunc(l.wait, func(ns int64) bool { return ns != 0 })
	if waits {
		out = append(out, 1)
	} else {
		out = append(out, 0)
	}
	end, span := int64(0), int32(0)
	for i := range l.start { // only the first gap can be negative
		out = binary.AppendVarint(out, l.start[i]-end)
		end = l.end[i]
	}
	for i := range l.start {
		out = binary.AppendUvarint(out, uint64(l.end[i]-l.start[i]))
	}
	for i := range l.start {
		out = binary.AppendVarint(out, int64(l.span[i]-span))
		span = l.span[i]
	}
	for i := range l.start {
		out = binary.AppendUvarint(out, uint64(r.nameOf(l.span[i])))
	}
	out = append(out, l.class...)
	for i := range l.start {
		out = append(out, r.flags(l.span[i]))
	}
	if waits {
		for i := range l.start {
			out = binary.AppendUvarint(out, uint64(l.wait[i]))
		}
	}
	return out
}

// flags returns the flags of a span that do not depend on a tile.
func (r *rank) flags(span int32) (flags uint8) {
	op := r.op(span)
	if op < 0 {
		return 0
	}
	if r.InGraph(&r.Ops[op]) {
		flags |= InGraph
	}
	if r.Match[op] >= 0 {
		flags |= Matched
	}
	return flags
}

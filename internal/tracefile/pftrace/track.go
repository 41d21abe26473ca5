package pftrace

import (
	"fmt"
	"strconv"
)

// Kind is the kind of contents of a track.
type Kind uint8

const (
	Slices  Kind = iota // slices and instants: a thread, a GPU stream
	Group               // other tracks, drawn below it by Track.Order
	Counter             // values over time
)

// Track describes one row of the timeline.
//
// Tracks are Perfetto's plain tracks, never its process and thread tracks: those ignore Parent, have an order chosen by
// the UI, and merge if two hosts use the same pid.
type Track struct {
	UUID   uint64 // 1 to MaxUUID, unique in the trace
	Parent uint64 // UUID of a Group; 0 at the top
	Name   string
	Kind   Kind

	// Order is the position of the track among its siblings, lowest first. Tracks without a Parent are always ordered
	// by Name, as text: give ranks names of equal length ("rank 00"), or a common Group.
	Order int32

	// Unit of a Counter's values: "ns", "count", "bytes", or any other text.
	Unit string

	// Description is shown by the UI on request: host, pid, device.
	Description string
}

// MaxUUID is the highest UUID that a caller may use. Higher ones are for lanes.
const MaxUUID = 1<<laneShift - 1

const laneShift = 48

// Track declares a track. It may be called at any time, since readers process all tracks before any event, but only
// once per UUID.
func (w *Writer) Track(t Track) {
	if t.UUID == 0 || t.UUID > MaxUUID {
		if w.err == nil {
			w.err = fmt.Errorf("perfetto track %q: uuid %d is not from 1 to %d", t.Name, t.UUID, uint64(MaxUUID))
		}
		return
	}
	w.declare(&t, t.UUID)
}

// declare writes the descriptor of t, or of a lane of t, as uuid. Lanes are siblings with one merge key, which the UI
// draws as one track. Merging is disabled for all others, because tracks of the same name merge by default.
func (w *Writer) declare(t *Track, uuid uint64) {
	m := appendUint(w.msg[:0], trackUUID, uuid)
	if t.Parent != 0 {
		m = appendUint(m, trackParentUUID, t.Parent)
	}
	m = appendBytes(m, trackName, t.Name)
	switch t.Kind {
	case Group:
		m = appendUint(m, trackChildOrdering, childOrderingExplicit)
	case Counter:
		w.sub = appendUnit(w.sub[:0], t.Unit)
		m = appendBytes(m, trackCounter, w.sub)
	}
	m = appendInt(m, trackSiblingOrderRank, int64(t.Order))
	if t.Description != "" {
		m = appendBytes(m, trackDescription, t.Description)
	}
	if t.Kind == Slices {
		m = appendUint(m, trackSiblingMergeBehavior, siblingMergeByKey)
		w.sub = strconv.AppendUint(w.sub[:0], t.UUID, 10)
		m = appendBytes(m, trackSiblingMergeKey, w.sub)
	} else {
		m = appendUint(m, trackSiblingMergeBehavior, siblingMergeNone)
	}
	w.msg = m
	w.packet(packetTrackDescriptor, noTime)
}

// appendUnit appends the body of a CounterDescriptor. The message must be present even if empty, because it makes the
// track a counter.
func appendUnit(b []byte, unit string) []byte {
	switch unit {
	case "":
		return b
	case "ns":
		return appendUint(b, counterUnit, unitTimeNS)
	case "count":
		return appendUint(b, counterUnit, unitCount)
	case "bytes":
		return appendUint(b, counterUnit, unitSizeBytes)
	}
	return appendBytes(b, counterUnitName, unit)
}

package pftrace

import (
	"fmt"
	"strconv"
)

// Kind is the kind of data that a track shows.
type Kind uint8

const (
	Slices  Kind = iota // slices and instants: a thread, a GPU stream
	Group               // other tracks, drawn below it by Track.Order
	Counter             // values over time
)

// Track describes one row of the timeline.
//
// Tracks are Perfetto's plain tracks, never process or thread tracks. Process and thread tracks ignore Parent, are
// ordered by the UI, and merge if two hosts use the same pid.
type Track struct {
	UUID   uint64 // 1 to MaxUUID, unique in the trace
	Parent uint64 // UUID of a Group; 0: no parent
	Name   string
	Kind   Kind

	// Order is the position of the track among its siblings, lowest first. Tracks without a Parent are always ordered
	// by Name, as text. So give ranks names of equal length ("rank 00") or a common Group.
	Order int32

	// Unit is the unit of a Counter's values: "ns", "count", "bytes", or any other text.
	Unit string

	// Description is a text that the UI shows on request, such as host, pid and device.
	Description string
}

// MaxUUID is the highest UUID that a caller may use. Higher UUIDs are reserved for lanes.
const MaxUUID = 1<<laneShift - 1

const laneShift = 48

// Track declares a track. Call it only once per UUID. It may be called at any time, because readers process all tracks
// before any event.
func (w *Writer) Track(t Track) {
	if t.UUID == 0 || t.UUID > MaxUUID {
		if w.err == nil {
			w.err = fmt.Errorf("perfetto track %q: uuid %d is not from 1 to %d", t.Name, t.UUID, uint64(MaxUUID))
		}
		return
	}
	w.declare(&t, t.UUID)
}

// declare writes the descriptor of t, or of a lane of t, with the given uuid. The lanes of a track are siblings with a
// common merge key, so the UI draws them as one track. All other tracks have merging disabled, because by default the
// UI merges tracks of the same name.
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

// appendUnit appends the body of a CounterDescriptor. The message must be present even if empty, because its presence
// makes the track a counter.
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

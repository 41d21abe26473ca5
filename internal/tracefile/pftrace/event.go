package pftrace

import (
	"errors"
	"math"
)

var errTimeOverflow = errors.New("start and duration exceed 64 bits: the duration is not in nanoseconds, or the event is broken")

// Event is a slice or an instant. The Writer keeps no reference to an Event, so the caller may reuse the Event, and
// everything it refers to, after each call.
type Event struct {
	TS  int64 // ns
	Dur int64 // ns; negative: the end was not recorded, and readers draw the slice to the end of the trace

	Name []byte
	Cat  []byte // category, optional

	Args *Args // optional

	// Flows are ids of arrows: arrows connect all events with the same flow id in order of time. Ids are global to the
	// trace. EndFlows lists the ids that end with this event, so that later events may reuse them. Readers ignore an id
	// in EndFlows that no earlier event has. If ids are unique, use Flows for both ends of an arrow: Flows connects two
	// events even if clock errors put them in the wrong order.
	Flows    []uint64
	EndFlows []uint64
}

// end returns the time the event ends, or MaxInt64 if it has no end.
func (e *Event) end() (int64, error) {
	if e.TS < 0 {
		return 0, errNegativeTime
	}
	if e.Dur < 0 {
		return math.MaxInt64, nil
	}
	if e.Dur > math.MaxInt64-e.TS {
		return 0, errTimeOverflow
	}
	return e.TS + e.Dur, nil
}

// slice writes a slice that ends at end. The slices of one track must be nested or disjoint. They must be sorted by
// start and, if starts are equal, longest first (see Order in the package documentation). A TrackWriter requires only
// the sorting.
func (w *Writer) slice(track uint64, e *Event, end int64) {
	w.event(track, typeSliceBegin, e)
	if e.Dur >= 0 {
		w.endPacket(track, end)
	}
}

// Instant writes an event without duration. e.Dur is ignored.
func (w *Writer) Instant(track uint64, e *Event) {
	if e.TS < 0 {
		w.fail(track, e.TS, errNegativeTime)
		return
	}
	w.event(track, typeInstant, e)
}

func (w *Writer) event(track, typ uint64, e *Event) {
	w.renew()
	m := appendUint(w.msg[:0], eventType, typ)
	m = appendUint(m, eventTrackUUID, track)
	m = appendUint(m, eventNameIID, w.in.id(&w.in.names, e.Name))
	if len(e.Cat) > 0 {
		m = appendUint(m, eventCategoryIIDs, w.in.id(&w.in.categories, e.Cat))
	}
	for _, id := range e.Flows {
		m = appendFixed64(m, eventFlowIDs, id)
	}
	for _, id := range e.EndFlows {
		m = appendFixed64(m, eventTerminatingFlowIDs, id)
	}
	if e.Args != nil {
		m = w.appendArgs(m, e.Args)
	}
	w.msg = m
	w.packet(packetTrackEvent, e.TS)
}

// renew starts a new generation of interned strings if the old one is full. Call it only before an event, because a
// message and the strings that it refers to must belong to the same generation.
func (w *Writer) renew() {
	if w.in.full() {
		w.in.reset()
		w.cleared = true
	}
}

// Counter sets the value of a Counter track from ts (ns) on.
func (w *Writer) Counter(track uint64, ts, value int64) {
	if ts < 0 {
		w.fail(track, ts, errNegativeTime)
		return
	}
	m := appendUint(appendUint(w.msg[:0], eventType, typeCounter), eventTrackUUID, track)
	w.msg = appendInt(m, eventCounterValue, value)
	w.packet(packetTrackEvent, ts)
}

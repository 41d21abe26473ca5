package pftrace

// Bounds of Lanes.
const (
	MaxLanes = 256

	// trace_processor drops a slice that lies deeper (kMaxDepth, 512, in
	// src/trace_processor/importers/common/slice_tracker.h) but not its END,
	// which would then close another slice.
	maxDepth = 500
)

// Lanes distributes the slices of one timeline over as few lanes as a greedy
// rule gives, such that on each lane any two slices are nested or apart, and
// each lane sees its slices in the order of their starts. A slice goes to the
// first lane where it fits. Kernels of one GPU stream overlap by a little when
// one is launched to start early; two lanes then do.
//
// The state is the ends of the slices still open on each lane, so memory is
// bounded by MaxLanes and the depth, whatever the number of slices.
//
// Slices should come sorted by start, the longer first at equal starts. One
// that comes late, starting before the last one of a lane, does not fit there
// and goes on: n sorted runs, one after the other, make n lanes. That is never
// wrong, but nothing nests across lanes.
//
// The zero value is ready to use.
type Lanes struct{ lanes []lane }

type lane struct {
	last int64   // start of the latest slice
	open []int64 // ends of it and the slices around it, outermost first
}

// Place returns the lane, from 0, of a slice from start to end (ns, end ≥
// start). It is false, and nothing is placed, if all MaxLanes lanes are taken.
func (l *Lanes) Place(start, end int64) (int, bool) {
	for i := range l.lanes {
		if l.lanes[i].take(start, end) {
			return i, true
		}
	}
	if len(l.lanes) == MaxLanes {
		return 0, false
	}
	l.lanes = append(l.lanes, lane{last: start, open: []int64{end}})
	return len(l.lanes) - 1, true
}

// Len is the number of lanes used so far.
func (l *Lanes) Len() int { return len(l.lanes) }

func (l *lane) take(start, end int64) bool {
	if start < l.last {
		return false // those it would have to nest in may be forgotten already
	}
	n := len(l.open)
	for n > 0 && l.open[n-1] <= start {
		n--
	}
	// A slice as late as the latest but longer than it is refused here too.
	if n > 0 && l.open[n-1] < end || n == maxDepth {
		return false
	}
	l.last = start
	l.open = append(l.open[:n], end)
	return true
}

// TrackWriter writes the slices of one Slices track and opens further lanes of
// it as they are needed: Perfetto tracks of the same name, which the UI draws
// as one.
type TrackWriter struct {
	w     *Writer
	track Track
	lanes Lanes
}

// Spans declares t, a track of slices, and returns its TrackWriter.
func (w *Writer) Spans(t Track) *TrackWriter {
	t.Kind = Slices
	w.Track(t)
	return &TrackWriter{w: w, track: t}
}

// Add writes a slice. Slices must come sorted by start, the longer first at
// equal starts, to nest as they do in time; see Lanes for what becomes of those
// that do not nest or come late. It is false, and nothing is written, if the
// slice overlaps MaxLanes others: report it as lost.
func (t *TrackWriter) Add(e *Event) bool {
	end, err := e.end()
	if err != nil {
		t.w.fail(t.track.UUID, e.TS, err)
		return true // not lost for want of lanes: Flush says why
	}
	had := t.lanes.Len()
	i, ok := t.lanes.Place(e.TS, end)
	if !ok {
		return false
	}
	uuid := t.track.UUID | uint64(i)<<laneShift
	if i == had && i > 0 {
		t.w.declare(&t.track, uuid)
	}
	t.w.slice(uuid, e, end)
	return true
}

// Instant writes an event without duration, in any order; e.Dur is ignored.
func (t *TrackWriter) Instant(e *Event) { t.w.Instant(t.track.UUID, e) }

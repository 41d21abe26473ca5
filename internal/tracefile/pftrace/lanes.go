package pftrace

// Limits of Lanes.
const (
	MaxLanes = 256

	// trace_processor drops deeper slices (kMaxDepth, 512, in src/trace_processor/importers/common/slice_tracker.h) but
	// not their ENDs, which would then close other slices.
	maxDepth = 500
)

// Lanes distributes the slices of one timeline greedily over a few lanes, such that any two slices on a lane are nested
// or disjoint, and each lane receives its slices in order of start. A slice goes to the first lane where it fits.
// Kernels of one GPU stream may overlap slightly if one is launched to start early; then two lanes suffice.
//
// The state is the ends of the open slices on each lane, so memory is limited by MaxLanes and the depth, regardless of
// the number of slices.
//
// Slices should be sorted by start, with longer ones first at equal starts. A slice that starts before the last one of
// a lane does not fit on that lane: n sorted runs, one after the other, need n lanes. This is never wrong, but nothing
// nests across lanes.
//
// The zero value is ready to use.
type Lanes struct{ lanes []lane }

type lane struct {
	last int64   // start of the latest slice
	open []int64 // ends of it and the slices around it, outermost first
}

// Place returns the lane, from 0, of a slice from start to end (ns, end ≥ start). It returns false, and places nothing,
// if all MaxLanes lanes are occupied.
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

// Len returns the number of lanes used so far.
func (l *Lanes) Len() int { return len(l.lanes) }

func (l *lane) take(start, end int64) bool {
	if start < l.last {
		return false // its parents may be gone from open
	}
	n := len(l.open)
	for n > 0 && l.open[n-1] <= start {
		n--
	}
	// This also refuses a slice that starts with the latest but is longer.
	if n > 0 && l.open[n-1] < end || n == maxDepth {
		return false
	}
	l.last = start
	l.open = append(l.open[:n], end)
	return true
}

// TrackWriter writes the slices of one Slices track and opens further lanes as needed: Perfetto tracks of the same
// name, which the UI draws as one.
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

// Add writes a slice. To nest as in time, slices must be sorted by start, with longer ones first at equal starts; see
// Lanes for slices that do not nest or come late. It returns false, and writes nothing, if the slice overlaps MaxLanes
// others; the caller must report it as lost.
func (t *TrackWriter) Add(e *Event) bool {
	end, err := e.end()
	if err != nil {
		t.w.fail(t.track.UUID, e.TS, err)
		return true // not lost for lack of lanes: Flush returns the error
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

// Instant writes an event without duration, in any order. e.Dur is ignored.
func (t *TrackWriter) Instant(e *Event) { t.w.Instant(t.track.UUID, e) }

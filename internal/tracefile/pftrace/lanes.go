package pftrace

// Limits of Lanes.
const (
	MaxLanes = 256

	// trace_processor drops deeper slices (kMaxDepth, 512, in src/trace_processor/importers/common/slice_tracker.h) but
	// does not drop the ENDs of those slices, which would then close other slices.
	maxDepth = 500
)

// Lanes distributes the slices of one timeline greedily over a few lanes, such that any two slices on a lane are nested
// or disjoint. Each lane receives slices in order of start. A slice goes to the first lane where it fits. Kernels of
// one GPU stream may overlap slightly if a kernel is launched to start before the previous one ends; then two lanes
// suffice.
//
// Lanes stores only the ends of the open slices on each lane, so memory depends on MaxLanes and the nesting depth, not
// on the number of slices.
//
// Slices should be sorted by start and, if starts are equal, longest first. A slice that starts before the last slice
// of a lane does not fit on that lane, so n concatenated sorted runs need n lanes. The result is correct in any order,
// but slices on different lanes do not nest.
//
// The zero value is ready to use.
type Lanes struct{ lanes []lane }

type lane struct {
	last int64   // start of the latest slice
	open []int64 // ends of the latest slice and the slices around it, outermost first
}

// Place places a slice from start to end (ns, end ≥ start) and returns the index of its lane. If the slice fits on none
// of MaxLanes lanes, Place returns false and does not place the slice.
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
		return false // the slice's parents may already be removed from open
	}
	n := len(l.open)
	for n > 0 && l.open[n-1] <= start {
		n--
	}
	// This condition also rejects a slice that begins at the same time as the latest slice but is longer.
	if n > 0 && l.open[n-1] < end || n == maxDepth {
		return false
	}
	l.last = start
	l.open = append(l.open[:n], end)
	return true
}

// TrackWriter writes the slices of one track of kind Slices. It adds lanes as needed. A lane is a Perfetto track of the
// same name, and the UI draws all lanes as one track.
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

// Add writes a slice. For correct nesting, slices must be sorted by start and, if starts are equal, longest first.
// Lanes describes the handling of slices that do not nest or are out of order. If no lane can take the slice, Add
// returns false and writes nothing; the caller must report the slice as lost.
func (t *TrackWriter) Add(e *Event) bool {
	end, err := e.end()
	if err != nil {
		t.w.fail(t.track.UUID, e.TS, err)
		return true // the slice is not lost for lack of lanes: Flush returns the error
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

package trace

// Invariants of recordings. None is violated in captures of SGLang 0.5.11 and 0.5.17 and vLLM 0.26 on H100 and H200, with
// and without injected faults. A violation adds a note of the kind in brackets.
//
//   - No span has a negative duration [NoteNegative]. A GPU op that has one counts as lost.
//   - No time is 0 or lies days away from the other times of its file [NoteDaysAway].
//   - A GPU op ends before a later op of its stream ends [NoteRunsOn]. Ops may overlap (programmatic dependent launch),
//     but a stream completes them in order. Some ROCm captures report kernels that end 25 ms too late.
//   - Correlation ids rise with time on a thread, and on a stream [NoteSetBack]. In order of time they fall only where
//     the clock was set back.
//   - Ops and API calls of a thread are nested, and so are its steps [NoteCross]. Two of them cross where the clock was
//     set back.
//   - A GPU op ends before the synchronisation that waited for it ends [NoteLateOps].
//   - A GPU op begins after its launch begins [NoteBeforeLaunch].
//   - Each launch has a GPU op, except a launch that is recorded into a CUDA graph during graph capture [NoteLostOps].
//   - No two GPU ops of a stream that last above 0 ns have the same name, start, duration and correlation id [NoteTwice].
//
// The readers find ops that run on, and clocks set back, in the order of the file: see [Row]. Where the clock was set
// back, ops are not compared with synchronisations.
const (
	RunsOnLeast  = 1_000   // ns: an op that ends too late by less than this is not a violation
	SetBackLeast = 100_000 // ns: a clock that goes back by less than this is not a violation
	// LateLeast is the time, in ns, by which an op may end after its synchronisation or begin before its launch: the
	// clocks of host and GPU agree no better.
	LateLeast = 100_000

	// Longest is the longest plausible duration, and the longest plausible distance between two times of a file: seven
	// days, the limit of HTA.
	Longest = 7 * 24 * 3600 * second
	second  = 1_000_000_000
)

// Away reports whether a time of a file, in ns, cannot be right if mid is the median of other times of the file. A time
// of 0 is a missing time, unless the file's times begin at about 0.
func Away(at, mid int64) bool {
	return at < mid-Longest || at > mid+Longest || at == 0 && mid > 3600*second
}

// Nest finds spans of one thread that cross: each of the two has a part outside of the other. The zero value is ready to
// use. It takes spans in order of time, parents first, and keeps only the outermost.
type Nest struct{ start, end int64 }

// Crosses adds a span and reports whether it crosses an earlier one by at least SetBackLeast.
func (n *Nest) Crosses(start, end int64) bool {
	was := *n
	if start >= was.end || end > was.end {
		n.start, n.end = start, end
	}
	if start < was.start { // in a file, the order may be another
		return end-was.start > SetBackLeast && was.end-end > SetBackLeast
	}
	return start > was.start && was.end-start > SetBackLeast && end-was.end > SetBackLeast
}

// Row finds the violations of one row, which has either GPU ops or API calls, in the order of the file. In files written
// by a profiler this is the order of time. In other files Row finds fewer violations. The zero value is ready to use.
type Row struct {
	known          bool
	start, end, id int64
}

// Op adds a GPU op, and returns its violation: NoteSetBack, NoteRunsOn if the previous op ends after it ends, or NoNote.
// The ops of one launch may be in order of their ends: the branches of a graph may share a stream.
func (r *Row) Op(start, end, id int64) NoteKind {
	was := *r
	*r = Row{known: true, start: start, end: end, id: id}
	switch {
	case was.before(start, id) && (id > was.id || end < was.end-SetBackLeast):
		return NoteSetBack
	case was.known && start >= was.start && was.end > end+RunsOnLeast:
		return NoteRunsOn
	}
	return NoNote
}

// Call adds an API call, and returns its violation, NoteSetBack or NoNote.
func (r *Row) Call(start, id int64) NoteKind {
	was := *r
	*r = Row{known: true, start: start, id: id}
	if id > was.id && was.before(start, id) {
		return NoteSetBack
	}
	return NoNote
}

// before reports whether an event comes after the row's latest event, by its id, and has an earlier time.
func (r *Row) before(start, id int64) bool {
	return r.known && id >= r.id && r.id > 0 && start < r.start-SetBackLeast
}

// Waits counts the GPU ops launched by one thread that end after the synchronisation that waited for them. The zero value
// is ready to use.
type Waits struct {
	Late   int64
	queued map[int64][]int64 // by stream: ends of the ops since the last wait for the stream
	copied *LastOp           // op of the previous call, if that call copied to the host
}

// LastOp is the op of a launch that ends last.
type LastOp struct {
	Stream, End int64
	ToHost      bool // whether the op copies to the host
}

// Add adds the thread's next API call, which ends at end. op is nil if the call started no GPU work.
func (w *Waits) Add(kind Call, end int64, op *LastOp) {
	switch {
	case kind == WaitsDevice:
		for stream := range w.queued {
			w.wait(stream, end)
		}
	case kind == WaitsStream && w.copied != nil && w.alone(w.copied.Stream):
		// The call does not say for which stream it waits. A copy to the host just before it shows the stream, if no
		// other stream has work.
		w.wait(w.copied.Stream, end)
	}
	w.copied = nil
	if op == nil {
		return
	}
	if w.queued == nil {
		w.queued = map[int64][]int64{}
	}
	w.queued[op.Stream] = append(w.queued[op.Stream], op.End)
	switch {
	case kind == Copies && op.ToHost:
		w.copied = op
	case kind == WaitsCopies && op.ToHost:
		w.wait(op.Stream, end)
	}
}

// alone reports whether no other stream has ops that nothing has waited for.
func (w *Waits) alone(stream int64) bool {
	for other, ends := range w.queued {
		if other != stream && len(ends) > 0 {
			return false
		}
	}
	return true
}

func (w *Waits) wait(stream, end int64) {
	for _, at := range w.queued[stream] {
		if at > end+LateLeast {
			w.Late++
		}
	}
	w.queued[stream] = w.queued[stream][:0]
}

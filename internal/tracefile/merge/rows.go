package merge

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Rows checks the GPU ops and API calls of one file against the invariants of package trace. The calls and the ops of a
// file come in any order, so Rows keeps both until the end of the file, up to Most of each. The zero value is ready to
// use.
type Rows struct {
	Most int // maximum number of ops and calls to keep; 0: mostKept. If there are more, launches are not paired with ops.

	rows      map[string]*row
	key       []byte
	latest    *row // row of the latest event
	latestKey string
	parts     map[string]int32 // the rank labels in the pids of a merged file
	ops       []gpuOp
	calls     int
	setBack   bool
	kinds     map[string]trace.Call // by name
	seen      []uint64              // hashes of the ops, to find repeated ones
	many      bool                  // whether there are more ops than that
}

const (
	mostSeen = 2 << 20 // limits the memory for hashes of ops to 16 MB a file
	mostKept = 1 << 15 // limits the memory of a merge, which reads several files at a time, to 4 MB a file
	hashes   = 4       // number of ops per launch up to which repeated ops are found
	calls    = 2       // number of API calls per launch
)

// row is one row of a file.
type row struct {
	trace.Row
	nested, steps trace.Nest // ops and API calls of a thread, and its steps

	index, part int32
	pid, key    string
	work        int // number of GPU ops
	op          int // index of the row's latest op + 1; 0: the op is not kept
	calls       []apiCall
}

// gpuOp is the GPU work of one launch on one row. id is the correlation id of the launch.
type gpuOp struct {
	id, start, end int64
	row, part      int32
	toHost         bool
}

// apiCall is one call of the GPU's API.
type apiCall struct {
	id, start, end int64
	kind           trace.Call
}

// Event adds a span with a possible time, and returns the invariants that it violates, or NoNote. A GPU op that ends
// before it begins is left out.
func (r *Rows) Event(e *chromejson.Event, start, end int64) (out [2]trace.NoteKind) {
	out[0] = r.event(e, start, end)
	if r.crosses(e, start, max(start, end)) {
		out[1] = trace.NoteCross
	}
	return out
}

// crosses reports whether the op, API call or step e crosses an earlier one on the same row.
func (r *Rows) crosses(e *chromejson.Event, start, end int64) bool {
	switch cat := e.Text(e.Cat); {
	case string(cat) == "cpu_op", trace.IsCall(cat):
		return r.of(e).nested.Crosses(start, end)
	case string(cat) == "user_annotation":
		if _, step := trace.ParseStep(string(e.Text(e.Name))); step {
			return r.of(e).steps.Crosses(start, end)
		}
	}
	return false
}

func (r *Rows) event(e *chromejson.Event, start, end int64) trace.NoteKind {
	switch string(e.Text(e.Cat)) {
	case "kernel", "gpu_memcpy", "gpu_memset":
		if end < start {
			return trace.NoNote
		}
		id, _ := e.ArgInt(chromejson.ArgCorrelation)
		at := r.of(e)
		at.work++
		kind := at.Op(start, end, id)
		if kind == trace.NoteRunsOn && at.op > 0 {
			r.ops[at.op-1].end = start // it is counted only once
		}
		if id > 0 {
			r.op(e, at, id, start, end)
		} else {
			at.op = 0
		}
		return r.note(kind)
	default:
		if !trace.IsCall(e.Text(e.Cat)) {
			break
		}
		id, known := e.ArgInt(chromejson.ArgCorrelation)
		if !known || id <= 0 {
			break
		}
		at := r.of(e)
		if r.calls++; r.calls <= calls*r.most() {
			at.calls = append(double(at.calls), apiCall{id, start, max(start, end), r.kind(e.Text(e.Name))})
		}
		return r.note(at.Call(start, id))
	}
	return trace.NoNote
}

func (r *Rows) note(kind trace.NoteKind) trace.NoteKind {
	r.setBack = r.setBack || kind == trace.NoteSetBack
	return kind
}

func (r *Rows) most() int { return cmp.Or(r.Most, mostKept) }

func (r *Rows) mostSeen() int { return min(hashes*r.most(), mostSeen) }

func (r *Rows) kind(name []byte) trace.Call {
	kind, ok := r.kinds[string(name)]
	if !ok {
		kind = trace.CallOf(string(name))
		if len(r.kinds) < 4096 {
			r.kinds[string(name)] = kind
		}
	}
	return kind
}

// of returns the row of an event.
func (r *Rows) of(e *chromejson.Event) *row {
	pid := e.Text(e.PID)
	r.key = append(append(append(r.key[:0], pid...), 0), e.Text(e.TID)...)
	if r.latest != nil && string(r.key) == r.latestKey {
		return r.latest // threads record runs of events
	}
	if at := r.rows[string(r.key)]; at != nil {
		r.latest, r.latestKey = at, at.key
		return at
	}
	if r.rows == nil {
		r.rows, r.parts, r.kinds = map[string]*row{}, map[string]int32{}, map[string]trace.Call{}
	}
	at := &row{index: int32(len(r.rows)), pid: string(pid), key: string(r.key)}
	if len(r.rows) < 4096 { // a broken file may have any number of rows
		r.rows[string(r.key)] = at
		if label, _, ok := bytes.Cut(pid, []byte("] ")); ok && bytes.HasPrefix(label, []byte("[")) {
			part, known := r.parts[string(label)]
			if !known {
				part = int32(len(r.parts)) + 1
				r.parts[string(label)] = part
			}
			at.part = part
		}
	}
	return at
}

// op keeps a GPU op. The ops of one launch on one row, such as the kernels of a graph, are kept as one.
func (r *Rows) op(e *chromejson.Event, at *row, id, start, end int64) {
	if r.many = r.many || len(r.seen) >= r.mostSeen(); r.many {
		r.seen = nil
	} else if end > start {
		r.seen = append(double(r.seen), hash(maphash.Bytes(nameSeed, e.Text(e.Name)), uint64(start), uint64(end), uint64(id), uint64(at.index)))
	}
	if at.op > 0 && r.ops[at.op-1].id == id {
		last := &r.ops[at.op-1]
		last.start, last.end = min(last.start, start), max(last.end, end)
		return
	}
	if len(r.ops) > r.most() {
		at.op = 0
		return
	}
	toHost := string(e.Text(e.Cat)) == "gpu_memcpy" && bytes.Contains(e.Text(e.Name), []byte("DtoH"))
	r.ops = append(double(r.ops), gpuOp{id, start, end, at.index, at.part, toHost})
	at.op = len(r.ops)
}

// double doubles the capacity of a full list. Append alone would leave more garbage.
func double[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 256))
	}
	return list
}

var nameSeed = maphash.MakeSeed()

func hash(values ...uint64) (h uint64) {
	for _, v := range values {
		h = (h ^ v) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// GPU reports whether the file has GPU work.
func (r *Rows) GPU() bool { return r.devices() > 0 }

// devices returns the largest number of devices that did much work in one part. A process merely touches a device with
// less than a tenth of the work of the busiest device.
func (r *Rows) devices() (most int64) {
	work := map[int32]map[string]int{}
	for _, at := range r.rows {
		if at.work > 0 {
			if work[at.part] == nil {
				work[at.part] = map[string]int{}
			}
			work[at.part][at.pid] += at.work
		}
	}
	for _, of := range work {
		top, n := 0, int64(0)
		for _, k := range of {
			top = max(top, k)
		}
		for _, k := range of {
			if 10*k >= top {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// End returns the violations that the whole file shows.
func (r *Rows) End(source string) (notes []trace.Note) {
	add := func(kind trace.NoteKind, n, of int64) {
		if n > 0 {
			notes = append(notes, trace.Note{Kind: kind, Source: source, Count: n, Lost: of})
		}
	}
	if n := r.devices(); n > 1 {
		add(trace.NoteDevices, n, 0)
	}
	if r.many {
		add(trace.NoteTwiceUnknown, int64(r.mostSeen()), 0)
	}
	slices.Sort(r.seen)
	add(trace.NoteTwice, int64(len(r.seen)-len(slices.Compact(r.seen))), 0)
	if len(r.ops) > r.most() || r.calls > calls*r.most() {
		add(trace.NoteUnpaired, int64(r.most()), 0)
		return notes
	}
	slices.SortFunc(r.ops, func(a, b gpuOp) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.id, b.id), cmp.Compare(a.end, b.end))
	})
	launches, lost, late, before := int64(0), int64(0), int64(0), int64(0)
	for _, at := range r.rows {
		slices.SortStableFunc(at.calls, func(a, b apiCall) int { return cmp.Compare(a.start, b.start) })
		var waits trace.Waits
		var launching trace.Launching
		for _, c := range at.calls {
			first, last := r.launched(at.part, c.id)
			waits.Add(c.kind, c.end, last)
			launching.Add(c.kind, c.id)
			if last != nil && (c.kind == trace.Launches || c.kind == trace.Copies) && first < c.start-trace.LateLeast {
				before++
			}
		}
		late += waits.Late
		for _, id := range launching.IDs {
			if launches++; !r.has(at.part, id) {
				lost++
			}
		}
	}
	if !r.setBack {
		add(trace.NoteLateOps, late, 0)
	}
	add(trace.NoteBeforeLaunch, before, 0)
	add(trace.NoteLostOps, lost, launches)
	return notes
}

// launched returns the start of the first op of a launch, and the op that ends last. It returns nil if there is none.
func (r *Rows) launched(part int32, id int64) (first int64, last *trace.LastOp) {
	for i := r.search(part, id); i < len(r.ops) && r.ops[i].part == part && r.ops[i].id == id; i++ {
		o := &r.ops[i]
		if last == nil {
			first = o.start
		}
		first = min(first, o.start)
		last = &trace.LastOp{Stream: int64(o.row), End: o.end, ToHost: o.toHost}
	}
	return first, last
}

func (r *Rows) has(part int32, id int64) bool {
	i := r.search(part, id)
	return i < len(r.ops) && r.ops[i].part == part && r.ops[i].id == id
}

// search returns the index of the first op of a launch in the sorted ops.
func (r *Rows) search(part int32, id int64) int {
	i, _ := slices.BinarySearchFunc(r.ops, gpuOp{part: part, id: id}, func(a, b gpuOp) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.id, b.id))
	})
	return i
}

// possible counts the violations of invariants in an event, and reports whether the event has a possible time. An event
// without a possible time would stretch the timeline over days.
func (p *part) possible(e *chromejson.Event) bool {
	start, ok := chromejson.ParseMicros(e.Text(e.TS))
	switch {
	case e.Ph == 'M':
		return true
	case !ok:
		if e.Ph == 'X' || e.Ph == 'B' {
			p.odd.Add(trace.NoteNoTime, 1)
		}
		return true
	case trace.Away(start, p.MidTS):
		p.odd.Add(trace.NoteDaysAway, 1)
		return false
	case e.Ph != 'X':
		return true
	}
	dur, ok := chromejson.ParseMicros(e.Text(e.Dur))
	switch {
	case !ok:
		p.odd.Add(trace.NoteNoDur, 1)
		return true
	case dur < 0:
		p.odd.Add(trace.NoteNegative, 1)
	case dur > trace.Longest:
		p.odd.Add(trace.NoteDaysLong, 1)
		return true
	}
	for _, kind := range p.rows.Event(e, start, start+dur) {
		if kind != trace.NoNote {
			p.odd.Add(kind, 1)
		}
	}
	return true
}

package read

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// builder fills one Trace. Names are interned in the escaped form of the file and unescaped once, at the end.
type builder struct {
	t      *trace.Trace
	spans  spanList
	label  string // label of this builder's rank in a merged file
	events int64
	open   []openSpan // B events whose E event has not been read yet

	lastTrackID  trace.TrackID // track of the last event; consecutive events are mostly on the same row
	tracks       map[trackKey]trace.TrackID
	trackOps     []int    // amount of GPU work on each track
	ofShape      []uint16 // Event.Shape -> index in made + 1; 0: none
	made         []made
	odd          trace.Tally // unusable events
	lastCat      string
	lastCategory trace.Category
	threadName   map[trackKey]string
	seen         seen
	npu          *npu // nil: not the trace of an Ascend device
}

// farthest is the largest accepted time or base, in ns. Counted from 1970, it lies in the year 2043. The sum of a time
// and a base below farthest cannot overflow.
const farthest = 1 << 61

// trackKey identifies a row by the pid and tid in the file, as interned strings.
type trackKey struct{ pid, tid trace.StringID }

type openSpan struct {
	track trace.TrackID
	span  int
}

func newBuilder() *builder {
	return &builder{
		t:      &trace.Trace{},
		tracks: map[trackKey]trace.TrackID{}, odd: trace.Tally{},
		threadName: map[trackKey]string{},
	}
}

// categories maps an event's cat to its category. The map has Kineto's current spellings and the spellings used before
// 2022.
var categories = map[string]trace.Category{
	"cpu_op": trace.CPUOp, "Operator": trace.CPUOp, "user_annotation": trace.UserAnnotation,
	"gpu_user_annotation": trace.GPUAnnotation, "python_function": trace.PythonFunction,
	"cuda_driver": trace.Driver, "kernel": trace.Kernel, "Kernel": trace.Kernel,
	"gpu_memcpy": trace.Memcpy, "Memcpy": trace.Memcpy, "gpu_memset": trace.Memset, "Memset": trace.Memset,
	"cuda_sync": trace.Sync, "overhead": trace.Overhead, "Trace": trace.Window,
}

func (b *builder) category(cat []byte) trace.Category {
	if string(cat) == b.lastCat {
		return b.lastCategory
	}
	c := categories[string(cat)]
	b.seen.category(string(cat), c != trace.Other || trace.IsCall(cat))
	if c == trace.Other && trace.IsCall(cat) {
		c = trace.Runtime
	}
	b.lastCat, b.lastCategory = string(cat), c
	return c
}

// event adds one event, or counts it as unusable.
func (b *builder) event(e *chromejson.Event) {
	b.events++
	switch e.Ph {
	case 'X':
		b.span(e)
	case 's', 'f', 't': // Kineto's correlation ids carry the same information more reliably
		if b.npu != nil || string(e.Text(e.Cat)) == "async_npu" {
			b.npuFlow(e)
		}
	case 'M':
		b.metadata(e)
	case 'i', 'I':
		if string(e.Text(e.Cat)) == "cpu_instant_event" && string(e.Text(e.Name)) == "[memory]" {
			b.memory(e)
		}
	case 'B':
		if b.span(e) {
			at := b.spans.n - 1
			b.open = append(b.open, openSpan{b.spans.at(at).Track, at})
		}
	case 'E':
		b.end(e)
	case 'C', 'b', 'e', 'n', 'P', 'R', 'N', 'D', 'O':
	case 0:
		b.odd.Add(trace.NotePhaseMissing, 1)
	default:
		b.odd[trace.Oddity{Kind: trace.NotePhaseUnknown, Name: strconv.QuoteRune(rune(e.Ph))}]++
	}
}

func (b *builder) track(e *chromejson.Event) trace.TrackID {
	s := &b.t.Strings
	pid, tid := e.Text(e.PID), e.Text(e.TID)
	if n := len(b.t.Tracks); n > 0 {
		// Most events are on the same row as the previous one.
		last := &b.t.Tracks[b.lastTrackID]
		if last.PID == string(pid) && last.TID == string(tid) {
			return b.lastTrackID
		}
	}
	key := trackKey{s.Intern(pid), s.Intern(tid)}
	id, ok := b.tracks[key]
	if !ok {
		id = trace.TrackID(len(b.t.Tracks))
		b.tracks[key] = id
		b.t.Tracks = append(b.t.Tracks, trace.Track{PID: string(pid), TID: string(tid), Device: -1, Stream: -1})
		b.trackOps = append(b.trackOps, 0)
	}
	b.lastTrackID = id
	return id
}

func (b *builder) span(e *chromejson.Event) bool {
	start, ok := when(e)
	if !ok {
		b.odd.Add(trace.NoteNoTime, 1)
		return false
	}
	var dur int64
	if e.Ph == 'X' {
		if dur, ok = chromejson.ParseMicros(e.Text(e.Dur)); !ok {
			b.odd.Add(trace.NoteNoDur, 1)
			return false
		}
		if dur < 0 {
			b.odd.Add(trace.NoteNegative, 1)
			if b.category(e.Text(e.Cat)).OnGPU() {
				return false // an op of unknown length would count as idle time; so it counts as lost
			}
			dur = 0
		}
		// HTA drops spans longer than a week. No serving window is that long.
		if dur > trace.Longest {
			b.odd.Add(trace.NoteDaysLong, 1)
			return false
		}
	}
	if b.npu != nil && b.npuSpan(e, start, dur) {
		return true
	}
	if m := b.as(e); m != nil {
		b.again(e, m, start, dur)
		return true
	}
	cat := b.category(e.Text(e.Cat))
	s := trace.Span{
		Start: start, Dur: dur, Cat: cat, Detail: -1,
		Track: b.track(e), Name: b.t.Strings.Intern(e.Text(e.Name)),
	}
	if linked(cat) {
		b.links(e, &s)
	}
	switch cat {
	case trace.Overhead:
		if string(e.Text(e.Name)) == trace.NoCoreName {
			s.Cat = trace.NoCore
		}
	case trace.Kernel:
		s.Cat = trace.BlitCategory(b.t.Strings.Get(s.Name))
		b.gpuOp(e, &s)
	case trace.Memcpy, trace.Memset:
		b.gpuOp(e, &s)
	case trace.UserAnnotation:
		if rids, ok := e.Arg(chromejson.ArgRequests); ok {
			s.Detail = int32(b.t.Strings.Intern(e.Text(rids)))
		}
	case trace.CPUOp:
		// Before 2022 the steps of PyTorch's profiler had the category of operators.
		if bytes.HasPrefix(e.Text(e.Name), []byte("ProfilerStep#")) {
			s.Cat = trace.UserAnnotation
		}
		if dims, ok := e.Arg(chromejson.ArgInputDims); ok && shaped(e.Text(e.Name)) {
			sh := trace.Shape{Dims: b.t.Strings.Intern(e.Value(dims))}
			if types, ok := e.Arg(chromejson.ArgInputType); ok {
				sh.Types = b.t.Strings.Intern(e.Value(types))
			}
			s.Detail = int32(len(b.t.Shapes))
			b.t.Shapes = append(b.t.Shapes, sh)
		}
	}
	*b.spans.add() = s
	if e.Shape > 0 {
		b.keep(e, s)
	}
	return true
}

// when returns the time of an event in ns since the file's base.
func when(e *chromejson.Event) (ns int64, ok bool) {
	ns, ok = chromejson.ParseMicros(e.Text(e.TS))
	return ns, ok && -farthest <= ns && ns <= farthest
}

// shaped reports whether the inputs of the operator determine its cost, as for matrix products and attention.
func shaped(name []byte) bool {
	if !bytes.HasPrefix(name, []byte("aten::")) {
		return false
	}
	return bytes.Contains(name, []byte("mm")) || bytes.Contains(name, []byte("matmul")) ||
		bytes.Contains(name, []byte("linear")) || bytes.Contains(name, []byte("attention"))
}

// linked reports whether spans of category c have the args that links reads.
func linked(c trace.Category) bool {
	switch c {
	case trace.Runtime, trace.Driver, trace.Sync, trace.CPUOp, trace.UserAnnotation, trace.GPUAnnotation, trace.Kernel, trace.Memcpy, trace.Memset:
		return true
	}
	return false
}

// links reads the ids that connect host and device events.
func (b *builder) links(e *chromejson.Event, s *trace.Span) {
	for i := range e.Known {
		switch k := &e.Known[i]; k.Key {
		case chromejson.ArgCorrelation:
			s.Corr, _ = e.Int(k.At)
		case chromejson.ArgExternalID:
			s.Ext, _ = e.Int(k.At)
		}
	}
}

func (b *builder) gpuOp(e *chromejson.Event, s *trace.Span) {
	op := trace.Op{Comm: -1}
	comm := trace.Comm{Seq: -1}
	var move trace.Move
	device, stream, isComm := int64(-1), int64(-1), false
	intern := func(f chromejson.Field) trace.StringID { return b.t.Strings.Intern(e.Text(f)) }
	for i := range e.Known {
		f := e.Known[i].At
		switch e.Known[i].Key {
		case chromejson.ArgDevice:
			device, _ = e.Int(f)
		case chromejson.ArgStream:
			stream, _ = e.Int(f)
		case chromejson.ArgGrid:
			op.Grid = triple(e.Value(f))
		case chromejson.ArgBlock:
			op.Block = triple(e.Value(f))
		case chromejson.ArgBytes:
			op.Bytes, _ = e.Int(f)
		case chromejson.ArgCollective:
			comm.Name, isComm = intern(f), true
		case chromejson.ArgDType:
			comm.DType = intern(f)
		case chromejson.ArgGroupName:
			comm.Group = intern(f)
		case chromejson.ArgGroupRanks:
			comm.Ranks = intern(f)
		case chromejson.ArgInElems:
			comm.In, _ = e.Int(f)
		case chromejson.ArgOutElems:
			comm.Out, _ = e.Int(f)
		case chromejson.ArgGroupSize:
			n, _ := e.Int(f)
			comm.GroupSize = int32(n)
		case chromejson.ArgSeq:
			comm.Seq, _ = e.Int(f)
		case chromejson.ArgRequests:
			move.Requests = intern(f)
		case chromejson.ArgRoom:
			move.Room, _ = e.Int(f)
		}
	}
	if isComm {
		op.Comm = int32(len(b.t.Comms))
		b.t.Comms = append(b.t.Comms, comm)
	}
	if move != (trace.Move{}) {
		b.t.Moves = append(b.t.Moves, move)
		op.Move = int32(len(b.t.Moves))
	}
	tr := &b.t.Tracks[s.Track]
	if !tr.GPU {
		tr.GPU = true
		if device < 0 { // without args the row gives the device
			device, _ = chromejson.ParseInt([]byte(tr.PID))
		}
		if stream < 0 {
			stream, _ = chromejson.ParseInt([]byte(tr.TID))
		}
		tr.Device, tr.Stream = int32(device), stream
	}
	b.trackOps[s.Track]++
	s.Detail = int32(len(b.t.Ops))
	b.t.Ops = append(b.t.Ops, op)
}

// triple parses "[1, 2, 3]".
func triple(v []byte) (d [3]int32) {
	at, n, in := 0, int64(0), false
	for _, c := range v {
		if c-'0' <= 9 {
			n, in = n*10+int64(c-'0'), true
			continue
		}
		if in && at < 3 {
			d[at] = int32(min(n, 1<<31-1))
			at++
		}
		n, in = 0, false
	}
	return d
}

func (b *builder) memory(e *chromejson.Event) {
	at, ok := when(e)
	if !ok {
		b.odd.Add(trace.NoteMemoryTime, 1)
		return
	}
	p := trace.MemoryPoint{Time: at}
	p.Bytes, _ = e.ArgInt(chromejson.ArgBytes)
	p.Allocated, _ = e.ArgInt(chromejson.ArgTotalAllocated)
	p.Reserved, _ = e.ArgInt(chromejson.ArgTotalReserved)
	kind, _ := e.ArgInt(chromejson.ArgDeviceType)
	p.GPU = kind != 0
	id, _ := e.ArgInt(chromejson.ArgDeviceID)
	p.Device = int32(id)
	b.t.Memory = append(b.t.Memory, p)
}

func (b *builder) metadata(e *chromejson.Event) {
	kind := string(e.Text(e.Name))
	if kind != "thread_name" && kind != "process_name" {
		return
	}
	if f, ok := e.Arg(chromejson.ArgName); ok {
		if kind == "process_name" {
			name := string(chromejson.Unescape(e.Text(f)))
			b.npuProcess(e, name)
			b.seen.process(name)
			return
		}
		key := trackKey{b.t.Strings.Intern(e.Text(e.PID)), b.t.Strings.Intern(e.Text(e.TID))}
		b.threadName[key] = strings.TrimSpace(string(chromejson.Unescape(e.Text(f))))
	}
}

// end closes the innermost open span of its row.
func (b *builder) end(e *chromejson.Event) {
	at, ok := when(e)
	row := b.track(e)
	for i := len(b.open) - 1; i >= 0; i-- {
		if o := b.open[i]; o.track == row {
			s := b.spans.at(o.span)
			if ok {
				s.Dur = max(0, at-s.Start)
				if s.Dur > trace.Longest {
					s.Dur = 0
					b.odd.Add(trace.NoteDaysLongNested, 1)
				}
			}
			b.open = slices.Delete(b.open, i, i+1)
			return
		}
	}
	b.odd.Add(trace.NoteNeverBegun, 1)
}

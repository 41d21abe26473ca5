package read

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Traces of Ascend devices (trace_view.json of torch_npu) have Kineto's host operators, but their other events have no
// category: the name of the process gives their meaning. A connection_id connects a call of CANN to the device work
// that it launched. Format: torch_npu's profiler and msprof, as written in 2024 and 2025 (level 0 to 2).

// npuProcess is the meaning of a process.
type npuProcess uint8

const (
	npuDevice npuProcess = iota + 1 // "Ascend Hardware": tasks by stream
	npuComm                         // "HCCL" or "Communication": collectives by group, and their parts by plane
	npuCalls                        // "CANN": calls on the host
	npuOther                        // counters, and sums such as "Overlap Analysis"
)

var npuProcesses = map[string]npuProcess{
	"Ascend Hardware": npuDevice, "HCCL": npuComm, "Communication": npuComm, "CANN": npuCalls, "Overlap Analysis": npuOther,
}

// npu is the state of a builder that reads a trace of an Ascend device.
type npu struct {
	process map[string]npuProcess // by pid
	calls   bool                  // the trace has calls that launch device work
	ops     map[npuPlace]int64    // connection_id of each device op, by its place; used if there are no calls
	groups  map[npuRow]*npuGroup  // collectives by row; the rows of a group's parts follow
	ranks   map[npuRow]int32      // by row of parts: number of ranks that they name
	begun   map[string]npuPlace   // beginnings of flows from operators to device work, by the flow's id
	flows   []npuFlow
}

type npuPlace struct {
	track trace.TrackID
	start int64
}

type npuFlow struct{ from, to npuPlace }

// npuRow is a row of a communication process.
type npuRow struct {
	pid string
	tid int32
}

// npuGroup holds the collectives of a group, as indices in Trace.Comms.
type npuGroup struct{ comms []int32 }

// npuProcess notes the meaning of a process.
func (b *builder) npuProcess(e *chromejson.Event, name string) {
	kind := npuProcesses[name]
	if kind == 0 {
		return
	}
	if b.npu == nil && (kind == npuOther || name == "Communication") {
		return // not by itself the sign of such a trace
	}
	b.needNPU()
	b.npu.process[string(e.Text(e.PID))] = kind
}

func (b *builder) needNPU() {
	if b.npu == nil {
		b.npu = &npu{process: map[string]npuProcess{}, ops: map[npuPlace]int64{}, begun: map[string]npuPlace{}, groups: map[npuRow]*npuGroup{}, ranks: map[npuRow]int32{}}
	}
}

// npuSpan adds a span of an Ascend process. It returns false if the span is of another process.
func (b *builder) npuSpan(e *chromejson.Event, start, dur int64) bool {
	kind := b.npu.process[string(e.Text(e.PID))]
	if kind == 0 {
		return false
	}
	s := trace.Span{Start: start, Dur: dur, Detail: -1, Track: b.track(e), Name: b.t.Strings.Intern(e.Text(e.Name))}
	name := b.t.Strings.Get(s.Name)
	id, _ := e.ArgInt(chromejson.ArgConnection)
	switch kind {
	case npuDevice:
		if s.Cat = npuTask(e, name); s.Cat != trace.Other {
			b.npuOp(&s, trace.Comm{}, int64(streamOf(e)), id)
		}
	case npuComm:
		if op, group, seq, ok := collectiveOf(name); ok {
			// The rest of the name differs from call to call.
			s.Cat, s.Name = trace.Kernel, b.t.Strings.Intern([]byte("hcom_"+op))
			comm := trace.Comm{Name: b.t.Strings.Intern([]byte(op)), Group: b.t.Strings.Intern([]byte(group)), Seq: seq}
			if n, ok := e.ArgInt(chromejson.ArgCount); ok {
				comm.In, comm.Out = n, n
			}
			if f, ok := e.Arg(chromejson.ArgDType); ok {
				comm.DType = b.t.Strings.Intern(e.Text(f))
			}
			b.npuOp(&s, comm, commStreams+int64(streamOf(e)), id)
			row := b.npuRow(e)
			if b.npu.groups[row] == nil {
				b.npu.groups[row] = &npuGroup{}
			}
			b.npu.groups[row].comms = append(b.npu.groups[row].comms, int32(len(b.t.Comms)-1))
		} else {
			for _, key := range []chromejson.ArgKey{chromejson.ArgFromRank, chromejson.ArgToRank} {
				if n, ok := e.ArgInt(key); ok && 0 <= n && n < mostRanks {
					row := b.npuRow(e)
					b.npu.ranks[row] = max(b.npu.ranks[row], int32(n)+1)
				}
			}
		}
	case npuCalls:
		// The calls of the runtime (level 2) lie inside these calls and have the same ids.
		if level, call, ok := strings.Cut(name, "@"); ok && level != "Runtime" {
			s.Cat, s.Corr = trace.Runtime, id
			b.npu.calls = true
			if call != "" {
				s.Name = b.t.Strings.Intern([]byte(call))
			}
		}
	}
	*b.spans.add() = s
	return true
}

// mostRanks is larger than the number of ranks of any group. Parts without a peer name rank 4294967295.
const mostRanks = 1 << 20

func (b *builder) npuRow(e *chromejson.Event) npuRow {
	return npuRow{string(e.Text(e.PID)), streamOf(e)}
}

// npuSizes sets the sizes of the groups: the number of ranks that the parts of their collectives name. The rows of a
// group's parts follow the row of the group.
func (b *builder) npuSizes() {
	if b.npu == nil {
		return
	}
	for row, ranks := range b.npu.ranks {
		var of *npuGroup
		best := int32(-1)
		for at, group := range b.npu.groups {
			if at.pid == row.pid && best < at.tid && at.tid < row.tid {
				of, best = group, at.tid
			}
		}
		if of == nil {
			continue
		}
		for _, i := range of.comms {
			b.t.Comms[i].GroupSize = max(b.t.Comms[i].GroupSize, ranks)
		}
	}
}

// commStreams is added to the numbers of groups, so that their rows differ from the streams of the device.
const commStreams = 1000

// npuOp makes s device work on a stream.
func (b *builder) npuOp(s *trace.Span, comm trace.Comm, stream, id int64) {
	op := trace.Op{Comm: -1}
	if comm.Name != 0 {
		op.Comm = int32(len(b.t.Comms))
		b.t.Comms = append(b.t.Comms, comm)
	}
	tr := &b.t.Tracks[s.Track]
	tr.GPU, tr.Device, tr.Stream = true, 0, stream // a trace has one device, whose number it does not tell
	b.trackOps[s.Track]++
	s.Corr, s.Detail = id, int32(len(b.t.Ops))
	b.t.Ops = append(b.t.Ops, op)
	b.npu.ops[npuPlace{s.Track, s.Start}] = id
}

func streamOf(e *chromejson.Event) int32 {
	n, _ := chromejson.ParseInt(bytes.Trim(e.Text(e.TID), `"`))
	return int32(n)
}

// npuTask returns the category of a task of the device: Other for waits, records of events, and the parts of
// collectives, which the communication process shows as a whole.
func npuTask(e *chromejson.Event, name string) trace.Category {
	f, _ := e.Arg(chromejson.ArgTaskType)
	task := strings.ToUpper(string(e.Text(f)))
	switch {
	case strings.HasPrefix(name, "MEMCPY"), strings.HasSuffix(task, "DMA_SQE"):
		return trace.Memcpy
	case strings.HasPrefix(name, "MEMSET"):
		return trace.Memset
	case task == "":
		return trace.Kernel
	}
	for _, unit := range []string{"AI_C", "AI_V", "AIC", "AIV", "MIX", "KERNEL", "DSA", "FFTS", "FUSION", "DVPP", "CCU"} {
		if strings.HasPrefix(task, unit) {
			return trace.Kernel
		}
	}
	return trace.Other
}

// collectiveOf parses the name of a collective: hcom_allReduce__586_2_1 is the third all-reduce of group 586.
func collectiveOf(name string) (op, group string, seq int64, ok bool) {
	rest, ok := strings.CutPrefix(name, "hcom_")
	if !ok {
		return "", "", 0, false
	}
	op, place, _ := strings.Cut(rest, "__")
	parts := strings.Split(place, "_")
	op = strings.Trim(op, "_")
	if len(parts) < 2 {
		return op, place, -1, op != ""
	}
	seq, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		seq = -1
	}
	return op, parts[0], seq, op != ""
}

// npuFlow notes the ends of a flow from an operator to device work.
func (b *builder) npuFlow(e *chromejson.Event) {
	at, ok := when(e)
	if !ok || string(e.Text(e.Cat)) != "async_npu" {
		return
	}
	b.needNPU()
	id, place := string(e.Text(e.ID)), npuPlace{b.track(e), at}
	if e.Ph == 's' {
		b.npu.begun[id] = place
	} else if from, ok := b.npu.begun[id]; ok {
		b.npu.flows = append(b.npu.flows, npuFlow{from, place})
	}
}

// npuLaunches adds a call for each flow from an operator to device work, if the trace has no calls (level 0).
func (b *builder) npuLaunches() {
	if b.npu == nil || b.npu.calls {
		return
	}
	name := b.t.Strings.Intern([]byte("torch_to_npu"))
	for _, f := range b.npu.flows {
		if id := b.npu.ops[f.to]; id > 0 {
			*b.spans.add() = trace.Span{Start: f.from.start, Corr: id, Name: name, Track: f.from.track, Detail: -1, Cat: trace.Runtime}
		}
	}
}

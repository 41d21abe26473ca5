// Package rocprof reads recordings of rocprofv3 (ROCm's profiler) into values of trace.Trace, one for each process and
// GPU: its JSON (--output-format json) and its rocpd databases (--output-format rocpd). Times are nanoseconds of the
// host's monotonic clock.
//
// The formats are those of rocprofiler-sdk 0.5 to 1.1 (ROCm 6.3 to 7.1).
package rocprof

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// farthest is the largest accepted time, in ns.
const farthest = 1 << 61

// agent is a CPU or GPU, as in JSON.
type agent struct {
	ID       handle `json:"id"`
	Type     int    `json:"type"` // 2: GPU
	Name     string `json:"name"`
	Product  string `json:"product_name"`
	Node     int64  `json:"node_id"`
	Index    int32  `json:"logical_node_type_id"` // among the GPUs
	Location int64  `json:"location_id"`          // bus:8 device:5 function:3
	Domain   int64  `json:"domain"`
}

const gpuType = 2

func (a *agent) pci() string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Location>>8&0xff, a.Location>>3&0x1f, a.Location&7)
}

// op is one kernel or copy.
type op struct {
	start, end    int64
	agent         int64 // key of process.agents
	queue, stream int64
	thread, corr  int64
	name          string
	cat           trace.Category
	bytes         int64
	grid, block   [3]int32
	comm          string // operation of the collective that it belongs to
}

// call is one API call or range of a host thread.
type call struct {
	start, end   int64
	thread, corr int64
	name         string
	cat          trace.Category
}

// process holds the records of one process.
type process struct {
	pid    int64
	host   string
	agents map[int64]*agent
	ops    []op
	calls  []call // without those of RCCL
	rccl   []call
	odd    trace.Tally
}

func newProcess() *process { return &process{agents: map[int64]*agent{}, odd: trace.Tally{}} }

// usable counts and refuses impossible times.
func (p *process) usable(start, end int64) bool {
	switch {
	case start <= 0 || start > farthest || end > farthest:
		p.odd.Add(trace.NoteRowTime, 1)
	case end < start:
		p.odd.Add(trace.NoteRowBackwards, 1)
	default:
		return true
	}
	return false
}

func (p *process) addOp(o op) {
	if p.usable(o.start, o.end) {
		p.ops = append(p.ops, o)
	}
}

// api adds a call of the API kind, such as HIP_RUNTIME_API. message is the text of a marker.
func (p *process) api(kind, message string, c call) {
	if !p.usable(c.start, c.end) {
		return
	}
	switch {
	case strings.HasPrefix(kind, "RCCL"):
		p.rccl = append(p.rccl, c)
	case strings.HasPrefix(kind, "MARKER"):
		if c.start == c.end || message == "" {
			return // a mark, or a call that controls the profiler
		}
		c.cat, c.name, c.corr = trace.UserAnnotation, message, 0
		p.calls = append(p.calls, c)
	case strings.HasPrefix(kind, "HIP"):
		c.cat = trace.Runtime
		p.calls = append(p.calls, c)
	case strings.HasPrefix(kind, "HSA"):
		c.cat = trace.Driver
		p.calls = append(p.calls, c)
	}
}

// copyKinds translates the operations of copies to libkineto's terms.
var copyKinds = map[string]string{
	"HOST_TO_HOST": "HtoH", "HOST_TO_DEVICE": "HtoD", "DEVICE_TO_HOST": "DtoH", "DEVICE_TO_DEVICE": "DtoD",
}

func copyName(operation string) string {
	kind := strings.TrimPrefix(operation, "MEMORY_COPY_")
	return "Memcpy " + cmp.Or(copyKinds[kind], kind)
}

// few is the fraction of a process's GPU work below which a second device is not a separate rank, as in package nsysdb.
const few = 0.05

// isCPU reports whether an agent is known and no GPU.
func (p *process) isCPU(id int64) bool {
	a := p.agents[id]
	return a != nil && a.Type != gpuType
}

// ranks returns the traces of the process: one for each GPU that it drives.
func (p *process) ranks() []*trace.Trace {
	p.collectives()
	work := map[int64]int{}
	for i := range p.ops {
		if id := p.ops[i].agent; !p.isCPU(id) {
			work[id]++
		}
	}
	ids := sorts.Sorted(maps.Keys(work), func(a, b int64) int { return cmp.Or(cmp.Compare(work[b], work[a]), cmp.Compare(a, b)) })
	if len(ids) == 0 && len(p.calls) == 0 {
		return nil
	}
	first := newRank(p)
	ranks, byAgent := []*rank{first}, map[int64]*rank{}
	for i, id := range ids {
		switch {
		case i == 0:
			first.agent = p.agents[id]
		case float64(work[id]) >= few*float64(work[ids[0]]):
			byAgent[id] = newRank(p)
			byAgent[id].agent = p.agents[id]
			ranks = append(ranks, byAgent[id])
			continue
		}
		byAgent[id] = first
	}
	p.distribute(ranks, byAgent)
	sorts.Stable(ranks, func(a, b *rank) int { return cmp.Compare(a.device(), b.device()) })
	out := make([]*trace.Trace, len(ranks))
	for i, k := range ranks {
		out[i] = k.finish()
	}
	out[0].Notes = p.odd.Notes("")
	return out
}

// distribute gives the ranks their operations and calls. Copies from host to host belong to the rank of their thread; if
// no rank has a GPU, they are left out.
func (p *process) distribute(ranks []*rank, byAgent map[int64]*rank) {
	launched, most := map[int64]*rank{}, map[int64]map[*rank]int{}
	for i := range p.ops {
		o := &p.ops[i]
		k := byAgent[o.agent]
		if k == nil {
			continue
		}
		k.op(o)
		if len(ranks) > 1 {
			launched[o.corr] = k
			if most[o.thread] == nil {
				most[o.thread] = map[*rank]int{}
			}
			most[o.thread][k]++
		}
	}
	owner := func(corr, thread int64) *rank {
		k := launched[corr]
		if k == nil || corr == 0 {
			k = ranks[0]
			for _, of := range ranks {
				if most[thread][of] > most[thread][k] {
					k = of
				}
			}
		}
		return k
	}
	for i := range p.ops {
		if o := &p.ops[i]; p.isCPU(o.agent) && len(byAgent) > 0 {
			owner(o.corr, o.thread).op(o)
		}
	}
	for i := range p.calls {
		c := &p.calls[i]
		owner(c.corr, c.thread).call(c)
	}
}

// rank fills one Trace.
type rank struct {
	p      *process
	agent  *agent // nil: no GPU work, or an unknown GPU
	t      *trace.Trace
	tracks map[trackKey]trace.TrackID
	spans  []trace.Span
}

type trackKey struct {
	gpu    bool
	device int32
	stream int64
}

func newRank(p *process) *rank {
	return &rank{p: p, t: &trace.Trace{}, tracks: map[trackKey]trace.TrackID{}}
}

func (k *rank) device() int32 {
	if k.agent == nil {
		return -1
	}
	return k.agent.Index
}

func (k *rank) track(key trackKey, make func() trace.Track) trace.TrackID {
	id, ok := k.tracks[key]
	if !ok {
		id = trace.TrackID(len(k.t.Tracks))
		k.tracks[key] = id
		k.t.Tracks = append(k.t.Tracks, make())
	}
	return id
}

// op adds a kernel or copy. Its row is the queue: operations of one queue run in order, also if HIP gives each of them a
// stream of its own.
func (k *rank) op(o *op) {
	device := int32(-1)
	if a := k.p.agents[o.agent]; a != nil {
		device = a.Index
	}
	if k.p.isCPU(o.agent) { // a copy from host to host in a stream of the rank
		device = k.device()
	}
	stream, name := o.queue, "queue "
	if o.cat == trace.Memcpy && o.queue == 0 { // an engine for copies; copies have no queue
		stream, name = copyRows+o.stream, "copies of stream "
	}
	track := k.track(trackKey{gpu: true, device: device, stream: stream}, func() trace.Track {
		id := strconv.FormatInt(stream, 10)
		return trace.Track{
			PID: strconv.Itoa(int(device)), TID: id, Name: name + strconv.FormatUint(uint64(stream)%copyRows, 10), GPU: true, Device: device, Stream: stream,
		}
	})
	of := trace.Op{Bytes: o.bytes, Grid: o.grid, Block: o.block, Comm: -1}
	if o.comm != "" {
		of.Comm = int32(len(k.t.Comms))
		k.t.Comms = append(k.t.Comms, trace.Comm{Name: k.t.Strings.Intern([]byte(o.comm)), Seq: -1})
	}
	k.spans = append(k.spans, trace.Span{
		Start: o.start, Dur: o.end - o.start, Corr: o.corr, Detail: int32(len(k.t.Ops)), Cat: o.cat, Track: track,
		Name: k.t.Strings.Intern([]byte(o.name)),
	})
	k.t.Ops = append(k.t.Ops, of)
}

// copyRows is added to the numbers of streams, so that the rows of copies differ from queues.
const copyRows = 1 << 32

func (k *rank) call(c *call) {
	track := k.track(trackKey{stream: c.thread}, func() trace.Track {
		tid := strconv.FormatInt(c.thread, 10)
		return trace.Track{PID: strconv.FormatInt(k.p.pid, 10), TID: tid, Name: "thread " + tid, Device: -1, Stream: -1}
	})
	k.spans = append(k.spans, trace.Span{
		Start: c.start, Dur: c.end - c.start, Corr: c.corr, Detail: -1, Cat: c.cat, Track: track,
		Name: k.t.Strings.Intern([]byte(c.name)),
	})
}

func (k *rank) finish() *trace.Trace {
	t := k.t
	t.Source = trace.Source{
		Host: k.p.host, Rank: trace.NoRank, World: trace.World{Rank: -1}, HasGPU: len(t.Ops) > 0, Complete: true,
		Events: int64(len(k.spans)),
	}
	if k.agent != nil {
		t.Source.Device, t.Source.PCI = cmp.Or(k.agent.Product, k.agent.Name), k.agent.pci()
	}
	runsort.Stable(k.spans, func(a, b trace.Span) bool {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur), cmp.Compare(a.Corr, b.Corr)) < 0
	})
	t.Spans = k.spans
	return t
}

package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// rank is what one trace comes to: its GPU work in time order, tied to the
// launches and the steps it belongs to. It is plain data on the rank's own
// clock and knows nothing of other ranks, but for the numbering of names.
type rank struct {
	index      int // among the ranks prepared together
	label      string
	source     trace.Source
	notes      []trace.Note
	devices    int    // that have work
	rule       string // how steps were cut
	steps      []step
	cut        int                          // steps at the end that a file cut off does not have whole
	ops        []op                         // by start on the device
	calls      []call                       // launches that started GPU work, by start
	colls      []collective                 // that ops are part of
	unlaunched int                          // ops without a launch
	empty      int                          // graph launches without any GPU work
	recorded   interval                     // in which the file says that it was recorded; none: it ends early, or does not say
	noCore     []interval                   // when no core ran the device (trace.NoCore), in time order
	stalls     []interval                   // of the profiler, in time order
	blocked    map[trace.TrackID][]interval // when threads waited for the device, in time order
	flops      map[int32]float64            // by op, where shapes were recorded
	memory     []MemorySeries               // times on the rank's own clock
	moves      []move
	ranges     []layerRange // of layer-wise markers, as nested
	rangeOf    []int32      // per call: the innermost range open, in ranges + 1; nil without ranges
}

// op is one kernel, copy or memset.
type op struct {
	start, end int64 // ns on the rank's own clock
	bytes      int64 // moved, by copies and memsets
	span       int32 // in the trace's Spans
	call       int32 // in calls; -1: its launch was not recorded
	step       int32 // in steps, by the time of the launch; -1: outside
	key        int32 // name and grid, numbered over all ranks
	name       int32 // name, numbered over all ranks
	coll       int32 // in colls; -1: no collective
	class      kernel.Class
	cat        trace.Category
	first      bool // the first op of its launch on this device
}

func (o *op) comm() bool { return o.class == kernel.Comm }

// move is a copy of keys and values from one server to another.
type move struct {
	op       int32
	room     int64  // by which both servers know the request; 0: not said
	requests string // as in trace.Pass, those of the server that wrote the trace
}

// call is an API call that started GPU work.
type call struct {
	start, end int64
	host       int64 // ns the host needed for it since the launch before
	span       int32 // in the trace's Spans
	ops        int32 // that it started
	op         int32 // the first of them on the device, in ops; -1
	step       int32 // in steps; -1: outside
	track      trace.TrackID
	graph      bool // it replays a graph
	blocks     bool // it returns only when the device has done the work
}

// step is one forward annotation on the launching thread.
type step struct {
	start, end                int64
	info                      trace.Step
	name, requests            string // requests as in trace.Pass
	track                     trace.TrackID
	kernels, launches, graphs int // that it launched; calls, and those of them that replay graphs
}

// prepare builds the rank of a trace.
func prepare(index int, t *trace.Trace, n *names) *rank {
	r := &rank{index: index, source: t.Source, notes: t.Notes, devices: devices(t)}
	if i := slices.IndexFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.Window }); i >= 0 && t.Source.Complete {
		r.recorded = interval{t.Spans[i].Start, t.Spans[i].End()}
	}
	r.noCore, r.stalls, r.blocked = intervals(t, trace.NoCore), intervals(t, trace.Overhead), blockedSpans(t)
	r.steps, r.rule = findSteps(t)
	r.link(t, n)
	r.flops, r.memory = flopsOf(t, r.ops), memoryOf(t)
	switch {
	case len(r.steps) == 0:
		r.wholeWindow()
	case !t.Source.Complete:
		r.dropCutSteps()
	}
	r.count()
	return r
}

// link ties GPU work to its launches by correlation, and launches to steps by
// time on the launching thread: under overlapped scheduling the GPU runs step
// n while the CPU prepares n+1, so GPU time would assign wrongly.
func (r *rank) link(t *trace.Trace, n *names) {
	callOf, gpu := launchesOf(t)
	local := make([]int32, t.Strings.Len()) // StringID -> names id + 1
	colls := collectives(t, r)
	r.ops = make([]op, 0, gpu)
	callAt := make([]int32, len(t.Spans)) // span -> index in calls + 1
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.OnGPU() {
			continue
		}
		id := local[s.Name] - 1
		if id < 0 {
			id = n.id(t.Strings.Get(s.Name), s.Cat.String())
			local[s.Name] = id + 1
		}
		detail := &t.Ops[s.Detail]
		o := op{
			start: s.Start, end: s.End(), bytes: detail.Bytes, span: int32(i), call: -1, step: -1,
			name: id, key: n.key(id, detail.Grid), class: n.class[id], cat: s.Cat,
		}
		switch s.Cat {
		case trace.Memcpy:
			o.class = kernel.Copy
		case trace.Memset:
			o.class = kernel.Memset
		}
		o.coll = colls(&o, s.Name, detail.Comm)
		if at, ok := callOf[s.Corr]; ok && s.Corr != 0 {
			c := callAt[at] - 1
			if c < 0 {
				c = int32(len(r.calls))
				callAt[at] = c + 1
				l := &t.Spans[at]
				graph := trace.IsGraphLaunch(t.Strings.Get(l.Name))
				r.calls = append(r.calls, call{start: l.Start, end: l.End(), span: at, track: l.Track, step: -1, op: -1, graph: graph})
			}
			r.calls[c].ops++
			o.call = c
		} else if s.Cat != trace.Memcpy || !kernel.KVTransfer(t.Strings.Get(s.Name)) {
			r.unlaunched++
		}
		r.ops = append(r.ops, o)
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat.Launch() && trace.IsGraphLaunch(t.Strings.Get(s.Name)) {
			if at, ok := callOf[s.Corr]; !ok || callAt[at] == 0 {
				r.empty++
			}
		}
	}
	r.sortCalls()
	slices.SortFunc(r.ops, func(a, b op) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.span, b.span))
	})
	for i := range r.ops {
		o := &r.ops[i]
		if o.call < 0 {
			o.step, o.first = r.stepAt(o.start), true
			continue
		}
		c := &r.calls[o.call]
		o.step = c.step
		if o.first = c.op < 0; o.first {
			c.op = int32(i)
			// Copies from or to pageable memory.
			c.blocks = o.cat == trace.Memcpy && strings.Contains(n.list[o.name], "Pageable")
		}
	}
	for i := range r.ops {
		if at := t.Ops[t.Spans[r.ops[i].span].Detail].Move; at != 0 && r.ops[i].cat == trace.Memcpy {
			m := &t.Moves[at-1]
			r.moves = append(r.moves, move{int32(i), m.Room, t.Strings.Get(m.Requests)})
		}
	}
	r.measureHost()
}

// launchesOf finds the launch of each correlation among the spans, and counts
// the GPU work.
func launchesOf(t *trace.Trace) (callOf map[int64]int32, gpu int) {
	launches := 0
	for i := range t.Spans {
		switch s := &t.Spans[i]; {
		case s.Cat.OnGPU():
			gpu++
		case s.Cat.Launch() && s.Corr != 0:
			launches++
		}
	}
	callOf = make(map[int64]int32, launches)
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() || s.Corr == 0 {
			continue
		}
		// A graph launch shows as runtime and as driver call of one
		// correlation at times: the outer, longer one counts.
		if at, ok := callOf[s.Corr]; !ok || t.Spans[at].Dur < s.Dur {
			callOf[s.Corr] = int32(i)
		}
	}
	return callOf, gpu
}

// devices counts the devices that have work.
func devices(t *trace.Trace) int {
	seen := map[int32]bool{}
	for i := range t.Tracks {
		if k := &t.Tracks[i]; k.GPU {
			seen[k.Device] = true
		}
	}
	return len(seen)
}

// inGraph tells an op that a graph's replay ran.
func (r *rank) inGraph(o *op) bool { return o.call >= 0 && r.calls[o.call].graph }

// Package prep prepares one rank's trace for analysis: its steps, its GPU work assigned to launches and steps, its
// collectives by name. It works on each rank alone, so it can run wherever the trace is.
package prep

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// Rank is a prepared trace: its GPU work in time order, assigned to the launches and steps it belongs to. It is plain
// data on the rank's own clock, independent of other ranks, so that it can be written down where the trace is and
// joined with others elsewhere.
type Rank struct {
	Index      int // among the ranks joined
	Label      string
	Extent     Interval // from the first to the last event
	Recording  string   // identifies the recording: equal for the same spans at the same times; "": no spans
	Source     trace.Source
	Notes      []trace.Note
	Devices    []int32 // numbers of the devices with work
	Rule       string  // how steps were cut
	Steps      []Step
	Cut        []Step                       // steps at the end that a file cut off holds only in part
	Ops        []Op                         // by start on the device
	Calls      []Call                       // launches that started GPU work, by start
	Colls      []Collective                 // collectives that ops are part of
	Unlaunched int                          // ops without a launch
	Empty      int                          // graph launches without any GPU work
	Lost       int                          // kernel launches without any GPU work
	Captured   int                          // kernel launches captured into graphs: they run nothing
	Recorded   Interval                     // time of the recording, by the file; none: it ends early, or does not give it
	NoCore     []Interval                   // when the device had no core (trace.NoCore), in time order
	Stacks     bool                         // recorded with Python stacks
	Stalls     []Interval                   // of the profiler, in time order
	Full       []Interval                   // when the launch queue was full, in time order: the host had run ahead
	Cold       []Cold                       // one-time work of the launching threads, in time order
	Still      []Still                      // stalls of the launching thread, in time order
	Blocked    map[trace.TrackID][]Interval // waits of threads for the device, in time order
	Main       trace.TrackID                // the thread with most launches
	HostColls  []HostCollective             // in time order
	Waits      []Interval                   // waits of the main thread in host collectives, in time order
	Records    []int64                      // times of calls to record an event, in order
	Awaits     []int64                      // times at which calls began to wait for an event, in order
	Flops      map[int32]float64            // by op, where shapes were recorded
	Memory     []result.MemorySeries        // times on the rank's own clock
	Moves      []Move
	Stages     []Stage         // of a diffusion pipeline, in time order
	Stretches  []trace.Stretch // as in trace.Trace: nothing is known of the time between two
	APICalls   int             // of CUDA or HIP
	Names      Names           // of its kernels; shared by all ranks once they are joined
	Host       Host
	Ranges     []Range // of layer-wise markers, nested; set by FindMarkers
	rangeOf    []int32 // per call: the innermost open range, + 1; nil without ranges
	replayed   []int32 // per op: its range if no launch gives it (see Replayed), + 1; nil: none
}

// Op is one kernel, copy or memset.
type Op struct {
	Start, End int64         // ns on the rank's own clock
	Bytes      int64         // moved, by copies and memsets
	Span       int32         // index in the trace's Spans
	Call       int32         // index in Calls; -1: its launch was not recorded
	Step       int32         // index in Steps, by the time of the launch; -1: outside
	Key        int32         // name and grid: index in the names' Keys
	Name       int32         // index in the names' List
	Coll       int32         // index in Colls; -1: no collective
	Track      trace.TrackID // the stream
	Class      kernel.Class
	Cat        trace.Category
	First      bool // the first op of its launch on this device
}

func (o *Op) Comm() bool { return o.Class == kernel.Comm }

// Move is a copy of KV cache from one server to another.
type Move struct {
	Op       int32
	Room     int64  // the ID by which both servers know the request; 0: unknown
	Requests string // as in trace.Pass, of the server that wrote the trace
}

// Call is an API call that started GPU work.
type Call struct {
	Start, End int64
	Host       int64 // ns of host time for it since the previous launch
	Span       int32 // index in the trace's Spans
	Ops        int32 // number of ops it started
	Op         int32 // index of the first of them on the device; -1: none
	Step       int32 // index in Steps; -1: outside
	Track      trace.TrackID
	Graph      bool // it replays a graph
	Blocks     bool // it returns only once the device has done the work
	Waits      bool // its whole duration is such a wait
}

// Step is one forward annotation on the launching thread.
type Step struct {
	Start, End                int64
	Info                      trace.Step
	Name, Requests            string // Requests as in trace.Pass
	Track                     trace.TrackID
	Next                      int64 // see trace.Pass.Next
	Quiet                     int64 // since then, until Start, its thread recorded nothing; Start: no such time
	Until                     int64 // the end of its stage; 0: none
	Kernels, Launches, Graphs int   // that it launched: kernels, calls, and calls that replay graphs
}

// Traces builds the ranks of several traces, in parallel. rules are as in Trace.
func Traces(traces []*trace.Trace, rules *kernel.Rules) []*Rank {
	ranks := make([]*Rank, len(traces))
	parallel.Each(len(traces), func(i int) { ranks[i] = Trace(traces[i], rules) })
	return ranks
}

// Trace builds the rank of a trace. rules are kernel classes; nil: the built-in table.
func Trace(t *trace.Trace, rules *kernel.Rules) *Rank {
	r := &Rank{Extent: extentOf(t), Recording: recordingOf(t), Source: t.Source, Notes: t.Notes, Devices: devices(t), Names: newNames(rules), Stretches: t.Stretches}
	if i := slices.IndexFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.Window }); i >= 0 && t.Source.Complete && len(t.Stretches) < 2 {
		r.Recorded = Interval{t.Spans[i].Start, t.Spans[i].End()}
	}
	r.NoCore, r.Blocked = intervals(t, func(s *trace.Span) bool { return s.Cat == trace.NoCore }), blockedSpans(t)
	r.Records, r.Awaits = eventCalls(t)
	r.Stalls, r.Full = overheadSpans(t, profilers), overheadSpans(t, backPressure)
	// Frames of a software device are not Python's, and cost little.
	r.Stacks = slices.ContainsFunc(t.Spans, func(s trace.Span) bool {
		return s.Cat == trace.PythonFunction && strings.Contains(t.Strings.Get(s.Name), ".py(")
	})
	for i := range t.Spans {
		if t.Spans[i].Cat.Launch() {
			r.APICalls++
		}
	}
	r.Steps, r.Rule = findSteps(t)
	r.Stages = findStages(t)
	r.endWithStages()
	r.link(t)
	r.Main = r.mainTrack(len(t.Tracks))
	r.findHostCollectives(t)
	r.findQuiet(t)
	r.measureHost()
	r.Flops, r.Memory = flopsOf(t, r.Ops), memoryOf(t)
	switch {
	case len(r.Steps) == 0:
		r.wholeWindow()
	case !t.Source.Complete:
		r.dropCutSteps()
	}
	r.endWithStretches()
	r.count()
	r.Cold = coldStarts(t, r)
	r.Still = standsStill(t, r)
	r.Host = hostOf(t, r)
	return r
}

// link assigns GPU work to its launches by correlation, and launches to steps by their time on the launching thread.
// GPU time would assign wrongly: under overlapped scheduling the GPU runs step n while the CPU prepares n+1.
func (r *Rank) link(t *trace.Trace) {
	n := &r.Names
	callOf, gpu := launchesOf(t)
	local := make([]int32, t.Strings.Len()) // StringID -> names id + 1
	colls := collectives(t, r)
	r.Ops, r.Calls = make([]Op, 0, gpu), make([]Call, 0, min(gpu, callOf.n))
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
		o := Op{
			Start: s.Start, End: s.End(), Bytes: detail.Bytes, Span: int32(i), Call: -1, Step: -1,
			Name: id, Key: n.key(id, detail.Grid), Track: s.Track, Class: n.Class[id], Cat: s.Cat,
		}
		switch s.Cat {
		case trace.Memcpy:
			o.Class = kernel.Copy
		case trace.Memset:
			o.Class = kernel.Memset
		}
		o.Coll = colls(&o, s.Name, detail.Comm)
		if at, ok := callOf.of(s.Corr); ok {
			c := callAt[at] - 1
			if c < 0 {
				c = int32(len(r.Calls))
				callAt[at] = c + 1
				l := &t.Spans[at]
				graph := trace.IsGraphLaunch(t.Strings.Get(l.Name))
				r.Calls = append(r.Calls, Call{Start: l.Start, End: l.End(), Span: at, Track: l.Track, Step: -1, Op: -1, Graph: graph})
			}
			r.Calls[c].Ops++
			o.Call = c
		} else if s.Cat != trace.Memcpy || !kernel.KVTransfer(t.Strings.Get(s.Name)) {
			r.Unlaunched++
		}
		r.Ops = append(r.Ops, o)
	}
	captured := capturedSpans(t)
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() || callAt[i] > 0 {
			continue
		}
		at, ok := callOf.of(s.Corr)
		if ok && at == int32(i) && strings.Contains(t.Strings.Get(s.Name), "LaunchKernel") {
			if Overlap(captured[s.Track], s.Start, s.End()) > 0 {
				r.Captured++
			} else {
				r.Lost++
			}
		}
		if trace.IsGraphLaunch(t.Strings.Get(s.Name)) && (!ok || callAt[at] == 0) {
			r.Empty++
		}
	}
	r.sortCalls()
	runsort.Stable(r.Ops, func(a, b Op) bool { // they come in the order of spans, so of their streams
		return a.Start < b.Start || a.Start == b.Start && a.End < b.End
	})
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Call < 0 {
			o.Step, o.First = r.StepAt(o.Start), true
			continue
		}
		c := &r.Calls[o.Call]
		o.Step = c.Step
		if o.First = c.Op < 0; o.First {
			c.Op = int32(i)
			// Copies whose call waits for them, which HIP may implement as a kernel, and copies from or to pageable
			// memory.
			c.Waits = isSync(t.Strings.Get(t.Spans[c.Span].Name))
			c.Blocks = c.Waits || o.Cat == trace.Memcpy && strings.Contains(n.List[o.Name], "Pageable")
		}
	}
	for i := range r.Ops {
		if at := t.Ops[t.Spans[r.Ops[i].Span].Detail].Move; at != 0 && r.Ops[i].Cat == trace.Memcpy {
			m := &t.Moves[at-1]
			r.Moves = append(r.Moves, Move{int32(i), m.Room, t.Strings.Get(m.Requests)})
		}
	}
}

// launchesOf finds the launch of each correlation among the spans, and counts the GPU work.
func launchesOf(t *trace.Trace) (callOf correlations, gpu int) {
	launches, lo, hi := 0, int64(math.MaxInt64), int64(math.MinInt64)
	for i := range t.Spans {
		switch s := &t.Spans[i]; {
		case s.Cat.OnGPU():
			gpu++
		case s.Cat.Launch() && s.Corr != 0:
			launches++
			lo, hi = min(lo, s.Corr), max(hi, s.Corr)
		}
	}
	callOf = newCorrelations(launches, lo, hi)
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() || s.Corr == 0 {
			continue
		}
		// A graph launch sometimes appears as a runtime and a driver call of one correlation: the outer, longer one
		// counts.
		if at, ok := callOf.of(s.Corr); !ok || t.Spans[at].Dur < s.Dur {
			callOf.set(s.Corr, int32(i))
		}
	}
	return callOf, gpu
}

// correlations maps the correlation numbers of a process's launches to spans. Numbers are mostly consecutive.
type correlations struct {
	n     int // launches
	lo    int64
	dense []int32 // from lo on: the span + 1; nil: few numbers in a wide range
	wide  map[int64]int32
}

func newCorrelations(n int, lo, hi int64) correlations {
	// A difference that overflows is large as uint64.
	if width := uint64(hi) - uint64(lo); n > 0 && width < 16*uint64(n) {
		return correlations{n: n, lo: lo, dense: make([]int32, width+1)}
	}
	return correlations{n: n, wide: make(map[int64]int32, n)}
}

func (c *correlations) of(corr int64) (span int32, ok bool) {
	if c.dense == nil {
		span, ok = c.wide[corr]
		return span, ok && corr != 0
	}
	if at := uint64(corr) - uint64(c.lo); at < uint64(len(c.dense)) && corr != 0 {
		return c.dense[at] - 1, c.dense[at] > 0
	}
	return 0, false
}

func (c *correlations) set(corr int64, span int32) {
	if c.dense == nil {
		c.wide[corr] = span
	} else {
		c.dense[corr-c.lo] = span + 1
	}
}

// devices returns the numbers of the devices with work.
func devices(t *trace.Trace) []int32 {
	seen := map[int32]bool{}
	for i := range t.Tracks {
		if k := &t.Tracks[i]; k.GPU && k.Device >= 0 {
			seen[k.Device] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// AsGoodAsMissing reports whether the rank made steps but its recording lost most or all of the GPU work.
func (r *Rank) AsGoodAsMissing() bool {
	return r.Lost > len(r.Calls) || len(r.Ops) == 0 && len(r.Steps) > 0
}

// InGraph reports whether a graph replay ran the op.
func (r *Rank) InGraph(o *Op) bool { return o.Call >= 0 && r.Calls[o.Call].Graph }

// Label names the ranks. A file that does not give its rank is named by its place in the world, or else by its place in
// the list.
func Label(ranks []*Rank) {
	seen := map[string]int{}
	for _, r := range ranks {
		src := &r.Source
		r.Label = src.Rank.String()
		if src.Rank == trace.NoRank {
			r.Label = fmt.Sprintf("rank %d", r.Index)
			if src.World.Known && src.World.Rank >= 0 {
				r.Label = fmt.Sprintf("rank %d", src.World.Rank)
			}
		}
		if src.Stage != "" {
			r.Label += " " + src.Stage
		}
		seen[r.Label]++
	}
	for _, r := range ranks {
		if seen[r.Label] > 1 {
			r.Label += fmt.Sprintf(" (file %d)", r.Index)
		}
	}
}

// Package prep prepares one rank's trace for analysis: it finds the steps, assigns GPU work to launches and steps, and
// identifies collectives by name. It works on each rank alone, so it can run on the host that stores the trace.
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

// Rank is a prepared trace: its GPU work in time order, assigned to launches and steps. A Rank is plain data on the
// rank's own clock and independent of other ranks. It can therefore be encoded on the host that stores the trace, and
// joined with other ranks on another host.
type Rank struct {
	Index      int // index among the joined ranks
	Label      string
	Extent     Interval // from the first to the last event
	Recording  string   // hash of the recording, equal for the same spans at the same times; "": no spans
	Source     trace.Source
	Notes      []trace.Note
	Devices    []int32  // numbers of the devices with work
	Threads    []string // ids of the threads, as in the file, by trace.TrackID
	Rule       string   // rule by which the trace was cut into steps
	Steps      []Step
	Cut        []Step                // steps at the end of a truncated file whose GPU work is incomplete
	Ops        []Op                  // ordered by start on the device
	Calls      []Call                // launches that started GPU work, ordered by start
	Colls      []Collective          // collectives to which ops belong
	Unlaunched int                   // number of ops without a launch
	Empty      int                   // number of graph launches without any GPU work
	Lost       int                   // number of kernel launches without any GPU work
	Captured   int                   // number of kernel launches captured into graphs, which run nothing
	Recorded   Interval              // time of the recording, as in the file; empty: unknown or truncated
	NoCore     []Interval            // intervals in which the device had no core (trace.NoCore), in time order
	Stacks     bool                  // recorded with Python stacks
	Stalls     []Interval            // stalls caused by the profiler, in time order
	Full       []Interval            // intervals with a full launch queue (the host ran ahead), in time order
	Cold       []Cold                // one-time work of the launching threads, in time order
	Still      []Still               // stalls of the launching thread, in time order
	Blocked    Blocked               // waits of threads for the device, in time order
	Main       trace.TrackID         // the thread with the most launches
	HostColls  []HostCollective      // in time order
	Waits      []Interval            // waits of the main thread in host collectives, in time order
	Records    []int64               // times of the calls that record an event, in order
	Awaits     []int64               // times at which calls began to wait for an event, in order
	Flops      Flops                 // floating-point operations by index of the op, where shapes were recorded
	Memory     []result.MemorySeries // memory timelines, on the rank's own clock
	Moves      []Move
	Stages     []Stage         // stages of a diffusion pipeline, in time order
	Stretches  []trace.Stretch // as in trace.Trace; nothing is known about the time between two stretches
	APICalls   int             // number of CUDA or HIP API calls
	Names      Names           // names of the kernels; shared by all ranks after Join
	Host       Host
	Ranges     []Range // ranges of layer-wise markers, nested; set by FindMarkers
	rangeOf    []int32 // per call: index of the innermost open range, plus 1; nil: no ranges
	replayed   []int32 // per op: index of the range assigned by Replay, plus 1; nil: none
	carried    []int32 // per op: index of the site assigned by Carry, plus 1; nil: none
}

// Op is one kernel, copy or memset.
type Op struct {
	Start, End int64         // ns on the rank's own clock
	Bytes      int64         // size of a copy or memset
	Span       int32         // index in the trace's Spans
	Call       int32         // index in Calls; -1: its launch was not recorded
	Step       int32         // index in Steps of the step in which it was launched; -1: outside of steps
	Key        int32         // name and grid, as an index in Names.Keys
	Name       int32         // name, as an index in Names.List
	Coll       int32         // index in Colls; -1: not a collective
	Track      trace.TrackID // stream
	Class      kernel.Class
	Cat        trace.Category
	First      bool // whether it is the first op of its launch on this device
}

func (o *Op) Comm() bool { return o.Class == kernel.Comm }

// Move is a copy of KV cache from one server to another.
type Move struct {
	Op       int32
	Room     int64  // id by which both servers know the request; 0: unknown
	Requests string // request ids as in trace.Pass, assigned by the server that wrote the trace
}

// Call is an API call that started GPU work.
type Call struct {
	Start, End int64
	Host       int64 // host time since the previous launch, ns
	Span       int32 // index in the trace's Spans
	Ops        int32 // number of ops that it started
	Op         int32 // index of the first of these ops on the device; -1: none
	Step       int32 // index in Steps; -1: outside of steps
	Site       int32 // place in the program, as an index in Names.Sites; -1: unknown
	Track      trace.TrackID
	Graph      bool // replays a graph
	Blocks     bool // returns only after the device has done the work
	Waits      bool // waits for the device for its whole duration
}

// Step is one forward annotation on the launching thread.
type Step struct {
	Start, End                int64
	Info                      trace.Step
	Name, Requests            string // Requests are as in trace.Pass
	Track                     trace.TrackID
	Next                      int64 // see trace.Pass.Next
	Quiet                     int64 // from then until Start, the thread recorded nothing; equal to Start: no such time
	Until                     int64 // end of the stage that contains the step; 0: none
	Kernels, Launches, Graphs int   // numbers of kernels, of launch calls, and of calls that replay graphs
	Lost                      int   // number of launches of kernels and graphs without any GPU work
	LostOps                   int   // least number of ops of graph replays that are not recorded; set by match
}

// lostShare is the share of a step's launches without GPU work above which the step has no valid figures.
const lostShare = 0.05

// Unmeasured reports whether the recording lost so much of the step's GPU work that its figures are invalid.
func (s *Step) Unmeasured() bool {
	return float64(s.Lost) > lostShare*float64(s.Launches+s.Lost) || float64(s.LostOps) > lostShare*float64(s.Kernels+s.LostOps)
}

// Traces prepares several traces in parallel. rules are as in Trace.
func Traces(traces []*trace.Trace, rules *kernel.Rules) []*Rank {
	ranks := make([]*Rank, len(traces))
	parallel.Each(len(traces), func(i int) { ranks[i] = Trace(traces[i], rules) })
	return ranks
}

// Trace prepares a trace. rules assign kernels to classes; nil: the built-in table.
func Trace(t *trace.Trace, rules *kernel.Rules) *Rank {
	r := &Rank{Extent: extentOf(t), Recording: recordingOf(t), Source: t.Source, Notes: t.Notes, Devices: devices(t), Names: newNames(rules), Stretches: t.Stretches}
	if i := slices.IndexFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.Window }); i >= 0 && t.Source.Complete && len(t.Stretches) < 2 {
		r.Recorded = Interval{t.Spans[i].Start, t.Spans[i].End()}
	}
	r.NoCore, r.Blocked = intervals(t, func(s *trace.Span) bool { return s.Cat == trace.NoCore }), blockedSpans(t)
	r.Records, r.Awaits = eventCalls(t)
	r.Stalls, r.Full = overheadSpans(t, profilers), overheadSpans(t, backPressure)
	// Ignore the frames of a software device, which are not Python frames and cost little.
	r.Stacks = slices.ContainsFunc(t.Spans, func(s trace.Span) bool {
		return s.Cat == trace.PythonFunction && strings.Contains(t.Strings.Get(s.Name), ".py(")
	})
	for i := range t.Spans {
		if t.Spans[i].Cat.Launch() {
			r.APICalls++
		}
	}
	for i := range t.Tracks {
		r.Threads = append(r.Threads, t.Tracks[i].TID)
	}
	r.Steps, r.Rule = findSteps(t)
	r.Stages = findStages(t)
	r.endWithStages()
	r.link(t)
	r.findSites(t)
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

// link assigns GPU work to its launches by correlation, and launches to steps by the time of the launch on the host.
// Assigning ops to steps by their time on the GPU would be wrong: under overlapped scheduling, the GPU runs step n
// while the CPU prepares step n+1.
func (r *Rank) link(t *trace.Trace) {
	n := &r.Names
	callOf, gpu := launchesOf(t)
	local := make([]int32, t.Strings.Len()) // StringID -> index in Names.List, plus 1
	colls := collectives(t, r)
	r.Ops, r.Calls = make([]Op, 0, gpu), make([]Call, 0, min(gpu, callOf.n))
	callAt := make([]int32, len(t.Spans)) // index of the span -> index in r.Calls, plus 1
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
				r.Calls = append(r.Calls, Call{Start: l.Start, End: l.End(), Span: at, Track: l.Track, Step: -1, Op: -1, Site: -1, Graph: graph})
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
		name := t.Strings.Get(s.Name)
		outer := ok && at == int32(i)
		inGraph := outer && Overlap(captured[s.Track], s.Start, s.End()) > 0
		if outer && strings.Contains(name, "LaunchKernel") {
			if inGraph {
				r.Captured++
			} else {
				r.Lost++
			}
		}
		if trace.IsGraphLaunch(name) && (!ok || callAt[at] == 0) {
			r.Empty++
		}
		if outer && !inGraph && trace.CallOf(name) == trace.Launches {
			if step := r.StepAt(s.Start); step >= 0 {
				r.Steps[step].Lost++
			}
		}
	}
	r.sortCalls()
	runsort.Stable(r.Ops, func(a, b Op) bool { // the ops are in the order of spans, and therefore grouped by stream
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
			// A call blocks for a copy that waits for completion by design; HIP may implement such a copy as a kernel.
			// A call also blocks for a copy from or to pageable memory.
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

// launchesOf finds the launch with each correlation id, and counts the spans of GPU work.
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
		// A graph launch sometimes appears as a runtime call and a driver call with the same correlation id. Use the
		// outer call, which is the longer one.
		if at, ok := callOf.of(s.Corr); !ok || t.Spans[at].Dur < s.Dur {
			callOf.set(s.Corr, int32(i))
		}
	}
	return callOf, gpu
}

// correlations maps the correlation ids of a process's number of launches to spans. The ids are mostly consecutive.
type correlations struct {
	n     int // number of launches
	lo    int64
	dense []int32 // index of the span, plus 1, for each id from lo on; nil: the ids are too sparse
	wide  map[int64]int32
}

func newCorrelations(n int, lo, hi int64) correlations {
	// If the difference overflows int64, it is still correct, and large, as uint64.
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

// AsGoodAsMissing reports whether the rank made steps, but most or all of its GPU work is missing from the recording.
func (r *Rank) AsGoodAsMissing() bool {
	measured := func(s Step) bool { return !s.Unmeasured() }
	return r.Lost > len(r.Calls) || len(r.Steps) > 0 && (len(r.Ops) == 0 || !slices.ContainsFunc(r.Steps, measured))
}

// InGraph reports whether a graph replay ran the op.
func (r *Rank) InGraph(o *Op) bool { return o.Call >= 0 && r.Calls[o.Call].Graph }

// Label sets the label of each rank. If a file does not give its rank, the label is the rank in the process group. If
// the process group does not give a rank either, the label is the index in the list.
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

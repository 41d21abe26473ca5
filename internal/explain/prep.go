package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/trace"
)

// rank is one trace prepared for analysis: its GPU work in time order, tied to
// the launches and the steps it belongs to.
type rank struct {
	index      int
	label      string
	t          *trace.Trace
	ops        []op // by start on the device
	steps      []step
	calls      []call      // launches that started GPU work, by start
	rule       string      // how steps were cut
	shift      clock.Shift // of this rank's clock, to agree with the others
	first      int         // index of steps[0] in the capture's numbering
	cut        int         // steps at the end that a file cut off does not have whole
	unlaunched int
	work       map[int]*approach // by step, filled on demand
	kernels    []int64           // per step, filled on demand
	rows       []interval        // of tracks in Spans, filled on demand
	under      []under           // see requestsUnder, filled on demand
	noCore     []interval        // when no core ran the device (trace.NoCore), in time order
	empty      int               // graph launches without any GPU work
	colls      map[collKey]collName
	marks      *markers     // nil without layer-wise markers
	ranges     []layerRange // of layer-wise markers, as nested
	rangeOf    []int32      // per call: the innermost range open, in ranges + 1; nil without ranges
}

// op is one kernel, copy or memset.
type op struct {
	start, end int64 // ns on the rank's own clock
	span       int32 // in trace.Spans
	call       int32 // in calls; -1: its launch was not recorded
	step       int32 // in steps, by the time of the launch; -1: outside
	key        int32 // name and grid, numbered over all ranks
	name       int32 // name, numbered over all ranks
	match      int32 // collective it is part of, in matches; -1
	wait       int64 // of a matched collective: ns until the last rank arrived
	class      kernel.Class
	first      bool // the first op of its launch on this device
}

// wall is a moment of the rank's clock on the clock of all.
func (r *rank) wall(at int64) int64 { return at + r.shift.At(at) }

func (o *op) comm() bool { return o.class == kernel.Comm }

// call is an API call that started GPU work.
type call struct {
	start, end int64
	span       int32
	ops        int32
	track      trace.TrackID
	step       int32
	op         int32 // its first op on the device, in ops; -1
	host       int64 // ns the host needed for it since the launch before (hosttime.go)
}

// step is one forward annotation on the launching thread.
type step struct {
	start, end int64
	info       trace.Step
	name       trace.StringID
	track      trace.TrackID
	requests   trace.StringID // as in trace.Pass
}

// names numbers kernel names, and names with grids, over all ranks, and
// classifies each name once.
type names struct {
	rules   *kernel.Rules
	byName  map[string]int32
	list    []string
	class   []kernel.Class
	byKey   map[keyOf]int32
	keyName []int32
}

type keyOf struct {
	name int32
	grid [3]int32
}

func newNames(rules *kernel.Rules) *names {
	return &names{rules: rules, byName: map[string]int32{}, byKey: map[keyOf]int32{}}
}

func (n *names) id(name, cat string) int32 {
	id, ok := n.byName[name]
	if !ok {
		id = int32(len(n.list))
		n.byName[name] = id
		n.list = append(n.list, name)
		n.class = append(n.class, n.rules.Classify(name, cat))
	}
	return id
}

func (n *names) key(name int32, grid [3]int32) int32 {
	k := keyOf{name, grid}
	id, ok := n.byKey[k]
	if !ok {
		id = int32(len(n.keyName))
		n.byKey[k] = id
		n.keyName = append(n.keyName, name)
	}
	return id
}

// prepare builds the rank of a trace.
func prepare(index int, t *trace.Trace, n *names) *rank {
	r := &rank{index: index, t: t}
	r.noCore = r.intervals(trace.NoCore)
	r.steps, r.rule = findSteps(t)
	r.link(n)
	switch {
	case len(r.steps) == 0:
		r.wholeWindow()
	case !t.Source.Complete:
		r.dropCutSteps()
	}
	return r
}

// dropCutSteps takes away the steps whose GPU work a file that ends early has
// not, or not all of: it is written after the CPU's, so such a step would look
// like one without work.
func (r *rank) dropCutSteps() {
	whole := int32(0) // steps before the last one with GPU work are whole
	for i := range r.ops {
		whole = max(whole, r.ops[i].step)
	}
	r.cut = len(r.steps) - int(whole)
	r.steps = r.steps[:whole]
	for i := range r.ops {
		if o := &r.ops[i]; o.step >= whole {
			o.step = -1
		}
	}
	for i := range r.calls {
		if c := &r.calls[i]; c.step >= whole {
			c.step = -1
		}
	}
}

// link ties GPU work to its launches by correlation, and launches to steps by
// time on the launching thread: under overlapped scheduling the GPU runs step
// n while the CPU prepares n+1, so GPU time would assign wrongly.
func (r *rank) link(n *names) {
	t := r.t
	local := make([]int32, t.Strings.Len()) // StringID -> names id + 1
	var gpu, launches int
	for i := range t.Spans {
		switch s := &t.Spans[i]; {
		case s.Cat.OnGPU():
			gpu++
		case s.Cat.Launch() && s.Corr != 0:
			launches++
		}
	}
	callOf := make(map[int64]int32, launches)
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
		o := op{start: s.Start, end: s.End(), span: int32(i), call: -1, step: -1, match: -1, name: id, class: n.class[id]}
		switch s.Cat {
		case trace.Memcpy:
			o.class = kernel.Copy
		case trace.Memset:
			o.class = kernel.Memset
		}
		o.key = n.key(id, t.Ops[s.Detail].Grid)
		if at, ok := callOf[s.Corr]; ok && s.Corr != 0 {
			c := callAt[at] - 1
			if c < 0 {
				c = int32(len(r.calls))
				callAt[at] = c + 1
				l := &t.Spans[at]
				r.calls = append(r.calls, call{start: l.Start, end: l.End(), span: at, track: l.Track, step: -1, op: -1})
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
	seen := make([]bool, len(r.calls))
	for i := range r.ops {
		o := &r.ops[i]
		if o.call >= 0 {
			o.step = r.calls[o.call].step
			o.first = !seen[o.call]
			seen[o.call] = true
		} else {
			o.step, o.first = r.stepAt(o.start), true
		}
	}
	r.measureHost()
}

// sortCalls orders calls by start and gives each its step.
func (r *rank) sortCalls() {
	order := make([]int32, len(r.calls))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.calls[a].start, r.calls[b].start), cmp.Compare(a, b))
	})
	place := make([]int32, len(order))
	sorted := make([]call, len(order))
	for i, from := range order {
		sorted[i] = r.calls[from]
		sorted[i].step = r.stepAt(sorted[i].start)
		place[from] = int32(i)
	}
	r.calls = sorted
	for i := range r.ops {
		if c := r.ops[i].call; c >= 0 {
			r.ops[i].call = place[c]
		}
	}
}

// stepAt is the step that holds a moment of the host, -1 for none. Steps do
// not overlap.
func (r *rank) stepAt(at int64) int32 {
	i, ok := slices.BinarySearchFunc(r.steps, at, func(s step, at int64) int { return cmp.Compare(s.start, at) })
	if !ok {
		i--
	}
	if i < 0 || at >= r.steps[i].end {
		return -1
	}
	return int32(i)
}

// devices counts the devices that have work.
func (r *rank) devices() int {
	seen := map[int32]bool{}
	for i := range r.t.Tracks {
		if k := &r.t.Tracks[i]; k.GPU {
			seen[k.Device] = true
		}
	}
	return len(seen)
}

// launchName is the name of the call that started an op.
func (r *rank) launchName(o *op) string {
	if o.call < 0 {
		return ""
	}
	return r.t.Strings.Get(r.t.Spans[r.calls[o.call].span].Name)
}

package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Row is the work of one stream or thread of a rank. A row has one lane for each depth of nesting.
type Row struct {
	Rank    int    `json:"rank"` // index in the capture's ranks
	Role    string `json:"role"`
	Name    string `json:"name"`
	Pinned  bool   `json:"pinned"` // shown together with pinned rows of other ranks; other rows are folded
	Lane    int    `json:"lane"`   // index of the row's first lane
	Lanes   int    `json:"lanes"`
	Deeper  int    `json:"deeper"` // number of spans nested too deeply for the last lane
	Spans   int    `json:"spans"`
	Classes []int  `json:"classes"` // classes of the row's spans

	track trace.TrackID
}

// Roles of rows, in display order.
const (
	RoleCompute  = "compute"       // the stream with the most computation
	RoleComm     = "communication" // the stream with the most collectives, if that is a different stream
	RoleLaunch   = "launches"      // the thread that launches steps
	RoleStream   = "stream"
	RoleRanges   = "ranges" // annotations mirrored on a stream
	RoleThread   = "thread"
	RolePython   = "python"   // Python frames of a thread
	RoleProfiler = "profiler" // the profiler's overhead and window
)

var roles = []string{RoleCompute, RoleComm, RoleLaunch, RoleStream, RoleRanges, RoleThread, RolePython, RoleProfiler}

// mostLanes limits the displayed depth of nesting.
const mostLanes = 400

// Classes lists the meanings of the colours of spans: kinds of kernels, and activities of threads. The class of a span
// is an index in this list; 0 is none.
var Classes = func() []string {
	list := []string{""}
	for _, g := range kernel.Groups() {
		list = append(list, string(g))
	}
	return append(list, "step", "range", "CPU op", "API call", "launch", "waits for the GPU", "Python", "profiler", "no core", "other host work")
}()

// Classes of spans that are not GPU work, as indices in Classes.
const (
	classGroups = 1 // index of the first group in kernel.Groups
	classStep   = iota + 9
	classRange
	classOp
	classCall
	classLaunch
	classSync
	classPython
	classProfiler
	classNoCore
	classOther
)

// groupClass gives the class (an index in Classes) for each kernel.Class.
var groupClass = func() (of [kernel.Memset + 1]uint8) {
	for c := range of {
		of[c] = uint8(classGroups + slices.Index(kernel.Groups(), kernel.Class(c).Group()))
	}
	return of
}()

// built holds the rows and lanes of a rank before they are numbered.
type built struct {
	rows  []Row
	lanes [][]*lane
	fresh []int32 // spans whose names are new for the rank
}

// build builds the rows and lanes of a rank. Ranks may be built in parallel.
func (t *Timeline) build(at int) (b built) {
	r := t.ranks[at]
	r.link()
	r.laneOf = slices.Repeat([]int32{-1}, len(r.t.Spans))
	r.name, r.kernel = make([]uint32, r.t.Strings.Len()), make([]uint32, r.t.Strings.Len())
	for i := 0; i < len(r.t.Spans); { // sorted by track
		j := i
		for j < len(r.t.Spans) && r.t.Spans[j].Track == r.t.Spans[i].Track {
			j++
		}
		track := r.t.Spans[i].Track
		for _, part := range r.parts(track) {
			row := Row{Rank: at, Role: part.role, Name: r.rowName(track), track: track}
			if made := t.lanesOf(r, i, j, part.takes, &row, &b.fresh); made != nil {
				b.rows, b.lanes = append(b.rows, row), append(b.lanes, made)
			}
		}
		i = j
	}
	r.pin(b.rows)
	return b
}

// addRank numbers the rows, lanes and names of a rank.
func (t *Timeline) addRank(at int, b built) {
	r, rows, lanes := t.ranks[at], b.rows, b.lanes
	for _, span := range b.fresh {
		t.addName(r, &r.t.Spans[span])
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	sorts.Stable(order, func(a, b int) int {
		return cmp.Compare(slices.Index(roles, rows[a].Role), slices.Index(roles, rows[b].Role))
	})
	for _, i := range order {
		rows[i].Lane = len(t.lanes)
		t.lanes = append(t.lanes, lanes[i]...)
		t.rows = append(t.rows, rows[i])
	}
	for _, row := range t.rows[len(t.rows)-len(rows):] {
		for k := range row.Lanes {
			l := t.lanes[row.Lane+k]
			for _, span := range l.span {
				r.laneOf[span] = int32(row.Lane + k)
			}
			if n := len(l.end); n > 0 && row.Role != RoleProfiler {
				t.from, t.to = min(t.from, l.start[0]), max(t.to, l.end[n-1])
			}
		}
	}
}

// part is a subset of a track's spans that gets its own row.
type part struct {
	role  string
	takes func(c trace.Category) bool
}

// parts divides a track into rows. Annotations that are mirrored on GPU tracks get a separate row because they are not
// work. Python frames get a separate row because they would push the rest of a thread out of view.
func (r *rank) parts(track trace.TrackID) []part {
	isRange := func(c trace.Category) bool { return c == trace.GPUAnnotation }
	isFrame := func(c trace.Category) bool { return c == trace.PythonFunction }
	isOwn := func(c trace.Category) bool { return c == trace.Overhead || c == trace.Window }
	if r.t.Tracks[track].GPU {
		return []part{{RoleStream, func(c trace.Category) bool { return !isRange(c) }}, {RoleRanges, isRange}}
	}
	return []part{
		{RoleThread, func(c trace.Category) bool { return !isFrame(c) && !isOwn(c) }}, {RolePython, isFrame}, {RoleProfiler, isOwn},
	}
}

// rowName returns the name of a track for display.
func (r *rank) rowName(track trace.TrackID) string {
	k := &r.t.Tracks[track]
	name := columns.Clean(k.Name)
	switch {
	case k.GPU && len(r.Devices) > 1:
		name = fmt.Sprintf("GPU %d stream %d", k.Device, k.Stream)
	case k.GPU:
		name = fmt.Sprintf("stream %d", k.Stream)
	case name == "":
		name = columns.Clean(k.TID)
	}
	return name
}

// lanesOf distributes the spans [i, j) of a track over lanes. Each span goes to the first free lane, so nested and
// overlapping spans are below the spans that they overlap. lanesOf also completes the row. It returns nil if there are
// no spans.
func (t *Timeline) lanesOf(r *rank, i, j int, takes func(trace.Category) bool, row *Row, fresh *[]int32) (lanes []*lane) {
	for ; i < j; i++ {
		s := &r.t.Spans[i]
		if !takes(s.Cat) {
			continue
		}
		row.Spans++
		start, end := t.wall(r, s.Start), t.wall(r, s.End())
		k := slices.IndexFunc(lanes, func(l *lane) bool { return l.end[len(l.end)-1] <= start })
		if k < 0 {
			if len(lanes) == mostLanes {
				row.Deeper++
				continue
			}
			k = len(lanes)
			lanes = append(lanes, &lane{rank: row.Rank})
		}
		l := lanes[k]
		l.start, l.end = append(l.start, start), append(l.end, end)
		l.span, l.class = append(l.span, int32(i)), append(l.class, r.class(int32(i)))
		if of := r.namesOf(s); of[s.Name] == 0 {
			of[s.Name] = math.MaxUint32 // until addName numbers it
			*fresh = append(*fresh, int32(i))
		}
	}
	var has [256]bool
	for _, l := range lanes {
		l.waits(r)
		l.index()
		for _, c := range l.class {
			has[c] = true
		}
	}
	for c := range Classes {
		if has[c] {
			row.Classes = append(row.Classes, c)
		}
	}
	row.Lanes = len(lanes)
	return lanes
}

// waits stores in the lane the waiting times of collectives.
func (l *lane) waits(r *rank) {
	for i, span := range l.span {
		op := r.op(span)
		if op < 0 || r.Wait[op] == 0 {
			continue
		}
		if l.wait == nil {
			l.wait = make([]int64, len(l.span))
		}
		l.wait[i] = min(r.Wait[op], l.end[i]-l.start[i])
	}
}

// pin assigns roles to the main rows and pins them.
func (r *rank) pin(rows []Row) {
	compute, comm, launches := map[trace.TrackID]int64{}, map[trace.TrackID]int64{}, map[trace.TrackID]int64{}
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Comm() {
			comm[o.Track] += o.End - o.Start
		} else {
			compute[o.Track] += o.End - o.Start
		}
	}
	for i := range r.Calls {
		launches[r.Calls[i].Track]++
	}
	if len(launches) == 0 { // no recorded launches: use the thread with the steps, or else with the most spans
		for i := range r.Steps {
			launches[r.Steps[i].Track]++
		}
	}
	if len(launches) == 0 {
		for i := range rows {
			launches[rows[i].track] += int64(rows[i].Spans)
		}
	}
	pin := func(in map[trace.TrackID]int64, from, to string) (most int64) {
		best := -1
		for i := range rows {
			if of := in[rows[i].track]; rows[i].Role == from && of > most {
				best, most = i, of
			}
		}
		if best >= 0 {
			rows[best].Role, rows[best].Pinned = to, true
			most = comm[rows[best].track]
		}
		return most
	}
	alike := pin(compute, RoleStream, RoleCompute)
	maps.DeleteFunc(comm, func(_ trace.TrackID, ns int64) bool { return ns <= alike })
	pin(comm, RoleStream, RoleComm)
	pin(launches, RoleThread, RoleLaunch)
}

// link builds the maps from spans to the ops and calls of the analysis.
func (r *rank) link() {
	r.opOf = make([]int32, len(r.t.Ops))
	for i := range r.opOf {
		r.opOf[i] = -1
	}
	for i := range r.Ops {
		r.opOf[r.t.Spans[r.Ops[i].Span].Detail] = int32(i)
	}
	r.callOf = make([]spanAt, len(r.Calls))
	for i := range r.Calls {
		r.callOf[i] = spanAt{r.Calls[i].Span, int32(i)}
	}
	sorts.By(r.callOf, func(a, b spanAt) int { return int(a.span - b.span) })
}

// class returns the class of a span.
func (r *rank) class(span int32) uint8 {
	s := &r.t.Spans[span]
	switch s.Cat {
	case trace.Kernel, trace.Memcpy, trace.Memset:
		if op := r.op(span); op >= 0 {
			return groupClass[r.Ops[op].Class]
		}
		return groupClass[kernel.Other]
	case trace.UserAnnotation:
		if at := r.StepAt(s.Start); at >= 0 && r.Steps[at].Start == s.Start && r.Steps[at].End == s.End() && r.Steps[at].Track == s.Track {
			return classStep
		}
		return classRange
	case trace.GPUAnnotation:
		return classRange
	case trace.CPUOp:
		return classOp
	case trace.Runtime, trace.Driver:
		switch {
		case r.blocks(s):
			return classSync
		case r.call(span) >= 0:
			return classLaunch
		}
		return classCall
	case trace.PythonFunction:
		return classPython
	case trace.Overhead, trace.Window:
		return classProfiler
	case trace.NoCore:
		return classNoCore
	}
	return classOther
}

// blocks reports whether s is a call in which the thread waits for the device.
func (r *rank) blocks(s *trace.Span) bool {
	in := r.Blocked[s.Track]
	i, ok := slices.BinarySearchFunc(in, s.Start, func(x prep.Interval, at int64) int { return cmp.Compare(x.Start, at) })
	if !ok {
		i--
	}
	return i >= 0 && s.Start >= in[i].Start && s.End() <= in[i].End
}

// Package retime modifies a real capture as if the system had behaved differently: for example, as if a rank's kernels
// had been slower, the rank's host had paused, or a link had been slower. Tests therefore know the correct result of an
// analysis.
//
// New links each moment of a capture to the moments that it waited for. A host thread makes one call after the other. A
// call launches GPU work. An op begins when three conditions hold: the op has been launched, the previous op on the
// same stream has ended, and the op on another stream that the op seems to wait for has ended. A collective ends once
// it has begun on all ranks. A blocking call returns when the work that the call waits for is done. Intervals between
// two moments keep their recorded lengths. Delay that no known wait explains is stored with the moment (Op.Late). Slack
// before a moment may absorb a delay, so a slowdown delays other moments by as much as on the real machine.
package retime

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Upper limits, in ns, on lags that are unknown because they were hidden behind other delays.
const (
	streamLag = 2_000  // from the end of an op to the start of the next op on the same stream
	launchLag = 20_000 // from a call to the start of the launched work; for a graph, from the end of the call
	returnLag = 20_000 // from the end of the work to the return of a call that waits for it
	callTime  = 10_000 // duration of a blocking call that has nothing to wait for
	// An op seems to wait for an op on another stream if the latter ended at most otherLag before the start of the
	// former.
	otherLag = 20_000
	noise    = 3_000 // only delays longer than this need an explanation
)

// Model is a capture that can be modified before Run computes its times.
type Model struct {
	Ops     []*Op     // by rank, then as recorded
	Moments []*Moment // by rank and thread, then in time order
	Meets   []*Meet   // collectives of several ranks
	Steps   int       // number of steps in the capture's numbering
	Kinds   []trace.StepKind
	traces  []*trace.Trace
	ranks   []*match.Rank
	threads []map[trace.TrackID][]*Moment // moments of each thread, by rank
	main    []trace.TrackID               // thread with the most launches, by rank
	arrive  []map[int32]*Moment           // by rank and host collective: moment at which the rank arrives
	// leave has the same keys as arrive and holds the moment at which the rank's main thread continues, if that thread
	// waits.
	leave []map[int32]*Moment
}

// Op is one kernel, copy or memset.
type Op struct {
	Rank, Step int // step -1: none
	Name       string
	Class      kernel.Class
	InGraph    bool
	Dur        int64 // duration; unused if Meet is set
	Late       int64 // delay after the end of all known waits
	Meet       *Meet // nil: no other rank takes part

	trace            *trace.Op // grid and bytes
	span             int32
	track            trace.TrackID
	start, end       int64 // as recorded; after Run, the new times
	prev, other      *Op   // preceding op on the same stream; op on another stream that this op waits for
	gap, wait        int64 // time from the end of prev to the start; time from the end of other to the start
	call             *Moment
	lag              int64 // time from the call to the start
	tail             int64 // for a collective: end on this rank minus earliest end on any rank
	corr             int64
	added            bool
	beganAt, endedAt int64 // as recorded
}

// Moment is a point in a host thread: a call, the return from a wait, or the beginning or end of a step.
type Moment struct {
	Rank, Step int
	Name       string // name of the call, or the kind of moment
	Gap        int64  // time since the previous moment of the thread
	// Returns is true if the moment is the return of a call that waits for the device. Gap is then the minimum duration
	// of the call.
	Returns bool

	at, now int64 // time as recorded, and new time
	prev    *Moment
	forOp   *Op       // op waited for; nil: unknown
	lag     int64     // time from the end of forOp
	forHost []*Moment // arrivals at a host collective for which this moment waits
	hostLag int64     // time from the last of these arrivals
	late    int64     // unexplained delay
	pauses  []pause
}

// pause is time inserted into a gap.
type pause struct{ at, ns int64 }

// Meet is one collective with the ops of all ranks.
type Meet struct {
	Step     int
	Op       string
	Transfer int64 // time from the last arrival to the first end
	InGraph  bool
	Of       []*Op
}

// SetGrid scales the grid of an op, and thereby its amount of work.
func (o *Op) SetGrid(factor float64) {
	if o.trace != nil {
		o.trace.Grid[0] = max(1, int32(float64(o.trace.Grid[0])*factor))
	}
}

// Grid returns the number of blocks in the first dimension of the op's grid.
func (o *Op) Grid() int32 { return o.trace.Grid[0] }

// New builds a model of a capture. New does not modify ts.
func New(ts []*trace.Trace) *Model {
	m := &Model{traces: clone(ts)}
	ranks := make([]*prep.Rank, len(ts))
	for i, t := range m.traces {
		ranks[i] = prep.Trace(t, nil)
	}
	names := prep.Join(ranks)
	a := match.Align(ranks, names, nil)
	m.ranks, m.Steps, m.Kinds = a.Ranks, a.Steps, a.KindOf
	byRank := make([][]*Op, len(ts))
	for i, r := range a.Ranks {
		calls := m.addHost(i, r)
		byRank[i] = m.addDevice(i, r, names, calls)
		m.addWaits(i, r, byRank[i], calls)
	}
	for _, d := range a.Domains {
		m.addMeets(d, byRank)
		m.addHostMeets(d)
	}
	m.settle()
	return m
}

// offset returns the correction, in ns, that aligns a rank's clock.
func offset(r *match.Rank) int64 {
	if len(r.Ops) > 0 {
		return r.Shift.At(r.Ops[len(r.Ops)/2].Start)
	}
	return r.Shift.At(0)
}

// stepOf converts a rank's step number to the capture's numbering.
func stepOf(r *match.Rank, step int32) int {
	if step < 0 {
		return -1
	}
	return int(step) + r.First
}

// addDevice lists a rank's ops and sets the waits of each op.
func (m *Model) addDevice(i int, r *match.Rank, names *prep.Names, calls []*Moment) []*Op {
	t, off := m.traces[i], offset(r)
	last := map[trace.TrackID]*Op{}
	all := make([]*Op, len(r.Ops))
	lags := usualLags(r, calls)
	for j := range r.Ops {
		p := &r.Ops[j]
		s := &t.Spans[p.Span]
		o := &Op{
			Rank: i, Step: stepOf(r, p.Step), Name: names.List[p.Name], Class: p.Class, InGraph: r.InGraph(p),
			Dur: p.End - p.Start, trace: &t.Ops[s.Detail], span: p.Span, track: s.Track, corr: s.Corr,
			start: p.Start + off, end: p.End + off,
		}
		o.beganAt, o.endedAt = o.start, o.end
		prev := last[o.track]
		sameCall := prev != nil && p.Call >= 0 && prev.call == calls[p.Call]
		if o.prev = prev; prev != nil {
			o.gap = o.start - prev.end
			if !sameCall {
				o.gap = min(o.gap, streamLag)
			}
		}
		if p.Call >= 0 {
			o.call = calls[p.Call]
			o.lag = min(o.start-o.call.at, lags[p.Call])
		}
		last[o.track] = o
		all[j] = o
	}
	for j, o := range all {
		if o.start-o.ready() > noise && !(o.prev != nil && o.prev.call == o.call && o.call != nil) {
			o.waitForOther(all[max(0, j-64):j])
		}
	}
	m.Ops = append(m.Ops, all...)
	return all
}

// ready returns the recorded time at which all known waits of an op were over.
func (o *Op) ready() int64 {
	at := int64(-1 << 62)
	if o.prev != nil {
		at = max(at, o.prev.end+o.gap)
	}
	if o.call != nil && (o.prev == nil || o.prev.call != o.call) {
		at = max(at, o.call.at+o.lag)
	}
	if o.other != nil {
		at = max(at, o.other.end+o.wait)
	}
	return at
}

// waitForOther finds the op on another stream for which o seems to have waited. That op ended just before o began.
func (o *Op) waitForOther(before []*Op) {
	for _, p := range before {
		if p.track != o.track && p.end <= o.start && p.end > o.start-otherLag && (o.other == nil || p.end > o.other.end) {
			o.other, o.wait = p, min(o.start-p.end, streamLag)
		}
	}
}

// usualLags returns, for each call, the usual delay to the start of its work on an idle device.
func usualLags(r *match.Rank, calls []*Moment) []int64 {
	by := map[string][]int64{}
	for c := range r.Calls {
		if op := r.Calls[c].Op; op >= 0 {
			by[calls[c].Name] = append(by[calls[c].Name], r.Ops[op].Start-r.Calls[c].Start)
		}
	}
	low := map[string]int64{}
	for name, l := range by {
		slices.Sort(l)
		low[name] = l[len(l)/10]
	}
	out := make([]int64, len(calls))
	for c := range r.Calls {
		most := int64(launchLag)
		if r.Calls[c].Graph {
			most += r.Calls[c].End - r.Calls[c].Start
		}
		out[c] = min(low[calls[c].Name], most)
	}
	return out
}

// addMeets links the ops of collectives.
func (m *Model) addMeets(d *match.Domain, byRank [][]*Op) {
	for k := range d.Matches {
		at := &d.Matches[k]
		meet := &Meet{Step: at.Step, Op: at.Op, InGraph: at.InGraph}
		last, first := int64(-1<<62), int64(1<<62)
		for _, p := range at.At {
			o := byRank[d.Ranks[p.Rank].Index][p.Op]
			o.Meet = meet
			meet.Of = append(meet.Of, o)
			last, first = max(last, o.start), min(first, o.end)
		}
		meet.Transfer = first - last
		for _, o := range meet.Of {
			o.tail = o.end - first
		}
		m.Meets = append(m.Meets, meet)
	}
}

// settle computes the unexplained delay of every moment.
func (m *Model) settle() {
	for _, o := range m.Ops {
		if ready := o.ready(); ready > -1<<62 {
			o.Late = o.start - ready
		}
	}
	for _, at := range m.Moments {
		if at.Returns || at.Name == GoesOn {
			done := at.prev.at + at.Gap
			if at.forOp != nil {
				done = max(done, at.forOp.end+at.lag)
			}
			for _, from := range at.forHost {
				done = max(done, from.at+at.hostLag)
			}
			at.late = at.at - done
		}
	}
}

func clone(ts []*trace.Trace) []*trace.Trace {
	out := make([]*trace.Trace, len(ts))
	for i, t := range ts {
		c := *t
		c.Spans, c.Ops, c.Comms = slices.Clone(t.Spans), slices.Clone(t.Ops), slices.Clone(t.Comms)
		c.Memory, c.Notes, c.Tracks = slices.Clone(t.Memory), slices.Clone(t.Notes), slices.Clone(t.Tracks)
		c.Strings = t.Strings.Clone()
		out[i] = &c
	}
	return out
}

// sortSpans sorts a trace's spans in the order required of a Trace.
func sortSpans(t *trace.Trace) {
	slices.SortStableFunc(t.Spans, func(a, b trace.Span) int {
		return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur))
	})
}

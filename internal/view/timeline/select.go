package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Link refers to a span that is related to another one.
type Link struct {
	Rank  int    `json:"rank"`
	Span  int32  `json:"span"`
	Lane  int32  `json:"lane"` // -1: the span is in no lane
	Label string `json:"label"`
	Start int64  `json:"start_ns"`
	Dur   int64  `json:"dur_ns"`
	// Stretched holds the start and end of the span on the stretched axis.
	Stretched [2]int64 `json:"stretched_ns"`
}

// Selected holds all details of a span.
type Selected struct {
	Link
	Name     string `json:"name"` // full name
	Category string `json:"category"`
	Class    uint8  `json:"class"`
	Step     int    `json:"step"` // step in the capture's numbering; -1: none
	StepName string `json:"step_name"`
	Layer    string `json:"layer"`
	Args     []Arg  `json:"args"`
	Wait     int64  `json:"wait_ns"` // wait in a collective until the last rank arrived
	Last     int    `json:"last"`    // the last rank to arrive; -1: not a collective, or unknown
	// For GPU work, Launch is the call that started it. For a call, Launches is the number of ops that it started, and
	// Launched lists the first MostLaunched of these ops.
	Launch   *Link  `json:"launch"`
	Delay    int64  `json:"delay_ns"` // from launch end to device start; negative: started before the call returned
	Launched []Link `json:"launched"`
	Launches int    `json:"launches"`
	Around   []Link `json:"around"` // enclosing spans of the span or its launch, innermost first, then Python frames
	// Op is the CPU op that made the launch, for a launch and for the GPU work that it started.
	Op *Link `json:"op"`
	// For a span of a thread that is not a launch, Calls lists the first mostInside launches inside it, Launched the
	// first op that each of them started, and Launches is the number of ops that all launches inside it started.
	Calls []Link `json:"calls"`

	Counterparts []Counterpart `json:"counterparts"` // one per other rank; empty if counterparts make no sense
	// Group is the id of the answer with the counterparts, in an exported page; nil: Counterparts has them.
	Group *int `json:"group,omitempty"`
}

// Arg is a property of a span, as in the file.
type Arg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Counterpart is the corresponding work of another rank; see match.Counterparts.
type Counterpart struct {
	Link
	Why   match.Unmatched `json:"why"`   // reason that there is none; "": found
	Other bool            `json:"other"` // a different kernel at the same position
	Grid  string          `json:"grid"`
	// Longer, Later and Delayed are the counterpart's duration, start and launch delay, minus the same values of the
	// selected span. The start of a collective is its arrival.
	Longer  int64 `json:"longer_ns"`
	Later   int64 `json:"later_ns"`
	Delayed int64 `json:"delayed_ns"`
	Delays  bool  `json:"delays"` // both launches were recorded, so Delayed is known
}

// MostLaunched is the maximum number of ops that are listed for a launch. A graph has thousands of ops.
const MostLaunched = 50

// mostAround is the maximum number of enclosing spans that are listed.
const mostAround = 24

func (t *Timeline) link(rank int, span int32) Link {
	r := t.ranks[rank]
	start, end := t.bounds(r, span)
	x := axis{knots: r.knots}
	l := Link{Rank: rank, Span: span, Lane: r.laneOf[span], Start: start, Dur: end - start, Stretched: [2]int64{x.shown(start), x.shown(end)}}
	s := &r.t.Spans[span]
	l.Label = r.t.Strings.Get(s.Name)
	if s.Cat.OnGPU() {
		l.Label = kernel.Short(l.Label)
	}
	l.Label = columns.Short(columns.Clean(l.Label), mostLabel)
	return l
}

// Hit returns the longest span of a lane that overlaps an interval of the wall clock, or nil. This is the span that the
// strip of the lane shows in the column of this interval.
func (t *Timeline) Hit(lane int, from, to int64) *Link {
	l := t.lanes[lane]
	i, j := l.overlapping(from, to)
	longest := l.longestOf(i, j)
	if longest.span < 0 {
		return nil
	}
	link := t.link(l.rank, l.span[longest.span])
	return &link
}

// Beside returns the next span on the lane of the given span or, if back is set, the previous one. It returns nil if
// there is none.
func (t *Timeline) Beside(rank int, span int32, back bool) (*Link, error) {
	if err := t.has(rank, span); err != nil {
		return nil, err
	}
	lane := t.ranks[rank].laneOf[span]
	if lane < 0 {
		return nil, nil
	}
	l := t.lanes[lane]
	start, _ := t.bounds(t.ranks[rank], span)
	i := l.before(start)
	for i < len(l.span) && l.span[i] != span { // several spans may begin at the same time
		i++
	}
	if i++; back {
		i -= 2
	}
	if i < 0 || i >= len(l.span) {
		return nil, nil
	}
	link := t.link(rank, l.span[i])
	return &link, nil
}

// Locate returns the first span of a rank with the given start, in ns since the epoch on the rank's own clock, and
// duration (-1: any), or nil.
func (t *Timeline) Locate(rank int, start, dur int64) *Link {
	spans := t.ranks[rank].t.Spans
	for track := range trace.TrackID(len(t.ranks[rank].t.Tracks)) {
		i, _ := slices.BinarySearchFunc(spans, track, func(s trace.Span, track trace.TrackID) int {
			return cmp.Or(cmp.Compare(s.Track, track), cmp.Compare(s.Start, start))
		})
		for ; i < len(spans) && spans[i].Track == track && spans[i].Start == start; i++ {
			if dur < 0 || spans[i].Dur == dur {
				l := t.link(rank, int32(i))
				return &l
			}
		}
	}
	return nil
}

// has returns an error if rank and span do not identify a span of the timeline.
func (t *Timeline) has(rank int, span int32) error {
	if rank < 0 || rank >= len(t.ranks) || span < 0 || int(span) >= len(t.ranks[rank].t.Spans) {
		return fmt.Errorf("there is no span %d of rank %d", span, rank)
	}
	return nil
}

// Member is a span of a group of counterparts.
type Member struct {
	Link
	Why      match.Unmatched `json:"why"`
	Other    bool            `json:"other"`
	Grid     string          `json:"grid"`
	Delay    int64           `json:"delay_ns"` // from launch end to device start
	Launched bool            `json:"launched"` // the launch was recorded, so Delay is known
}

// work is the work of a span that has counterparts.
type work struct {
	op   int32 // -1: none
	call bool  // the span is the op's launch
	step int32 // if the span is the annotation of a step; -1: it is not
}

// Select returns the details of a span.
func (t *Timeline) Select(rank int, span int32) (*Selected, error) {
	out, w, err := t.describe(rank, span)
	if err != nil {
		return nil, err
	}
	out.Counterparts = relative(out, t.members(rank, w))
	return out, nil
}

// describe returns the details of a span without its counterparts.
func (t *Timeline) describe(rank int, span int32) (*Selected, work, error) {
	w := work{op: -1, step: -1}
	if err := t.has(rank, span); err != nil {
		return nil, w, err
	}
	r := t.ranks[rank]
	s := &r.t.Spans[span]
	out := &Selected{
		Link: t.link(rank, span), Name: columns.Clean(r.t.Strings.Get(s.Name)), Category: s.Cat.String(), Class: r.class(span),
		Step: -1, Last: -1, Args: t.args(r, s), Launched: []Link{}, Counterparts: []Counterpart{}, Calls: []Link{},
	}
	step, around := int32(-1), span
	op, call := r.op(span), r.call(span)
	switch {
	case op >= 0:
		o := &r.Ops[op]
		step = o.Step
		if o.Call >= 0 {
			c := &r.Calls[o.Call]
			l := t.link(rank, c.Span)
			out.Launch, out.Delay, around = &l, o.Start-c.End, c.Span
		}
		out.Layer = t.layer(r, op)
		t.waiting(rank, op, out)
		w.op = op
	case call >= 0:
		step = r.Calls[call].Step
		t.launched(rank, call, out)
		if op := r.Calls[call].Op; op >= 0 {
			out.Layer = t.layer(r, op)
			w.op, w.call = op, true
		}
	default:
		step = r.StepAt(s.Start)
		if out.Class == classStep {
			w.step = step
		}
	}
	if step >= 0 {
		out.Step, out.StepName = int(step)+r.First, columns.Clean(r.Steps[step].Name)
	}
	out.Around = t.around(rank, around)
	t.flow(out, around)
	return out, w, nil
}

// layer returns the name of the layer to which an op belongs.
func (t *Timeline) layer(r *rank, op int32) string {
	if t.a.Marks == nil {
		return ""
	}
	at := t.a.Marks.LayerAt(r.Rank.Rank, r.RangeAt(int(op)))
	if at < 0 {
		return ""
	}
	l := &t.a.Marks.Layers[at]
	return columns.Clean(fmt.Sprintf("%s.%d", l.Stack, l.N))
}

// waiting adds to out the waiting time of a collective, and the last rank to arrive.
func (t *Timeline) waiting(rank int, op int32, out *Selected) {
	r := t.ranks[rank]
	if r.Match[op] < 0 {
		return
	}
	out.Wait = r.Wait[op]
	d := t.domainOf(rank)
	m := &d.Matches[r.Match[op]]
	for _, p := range m.At {
		if p.Start == m.Last && m.Possible() {
			out.Last = d.Ranks[p.Rank].Index
		}
	}
}

// domainOf returns the domain of ranks with which a rank shares collectives.
func (t *Timeline) domainOf(rank int) *match.Domain {
	for _, d := range t.a.Domains {
		if slices.Contains(d.Ranks, t.a.Ranks[rank]) {
			return d
		}
	}
	return &match.Domain{}
}

// launched adds to out the ops that a call started.
func (t *Timeline) launched(rank int, call int32, out *Selected) {
	r := t.ranks[rank]
	c := &r.Calls[call]
	out.Launches = int(c.Ops)
	if c.Op < 0 {
		return
	}
	out.Delay = r.Ops[c.Op].Start - c.End
	for i := int(c.Op); i < len(r.Ops) && len(out.Launched) < min(out.Launches, MostLaunched); i++ {
		if r.Ops[i].Call == call {
			out.Launched = append(out.Launched, t.link(rank, r.Ops[i].Span))
		}
	}
}

// members returns the spans of all ranks that correspond to the work of a rank, in the order of ranks.
func (t *Timeline) members(rank int, w work) (out []Member) {
	switch {
	case w.op >= 0:
		pairs := slices.Insert(t.matched().Of(rank, w.op), rank, match.Pair{Rank: rank, Op: w.op})
		for i := range pairs {
			out = append(out, t.member(&pairs[i], w.call))
		}
	case w.step >= 0:
		n := int(w.step) + t.ranks[rank].First
		for at := range t.ranks {
			out = append(out, t.sameStep(at, n, t.domainOf(at) == t.domainOf(rank) || at == rank))
		}
	}
	return out
}

func (t *Timeline) member(p *match.Pair, call bool) Member {
	m := Member{Link: Link{Rank: p.Rank, Span: -1, Lane: -1}, Why: p.Why, Other: p.Other}
	if p.Op < 0 {
		return m
	}
	r := t.ranks[p.Rank]
	o := &r.Ops[p.Op]
	m.Launched = o.Call >= 0
	switch {
	case !call:
		m.Link = t.link(p.Rank, o.Span)
	case m.Launched:
		m.Link = t.link(p.Rank, r.Calls[o.Call].Span)
	default:
		m.Why = match.NoSuch
		return m
	}
	m.Grid = gridOf(r, p.Op)
	if m.Launched {
		m.Delay = o.Start - r.Calls[o.Call].End
	}
	return m
}

// relative returns the members of other ranks, relative to the selected span.
func relative(s *Selected, members []Member) []Counterpart {
	out := []Counterpart{}
	for i := range members {
		m, own := &members[i], &members[s.Rank]
		if m == own {
			continue
		}
		c := Counterpart{Link: m.Link, Why: m.Why, Other: m.Other, Grid: m.Grid}
		if m.Span >= 0 {
			c.Longer, c.Later = m.Dur-s.Dur, m.Start-s.Start
			if c.Delays = own.Launched && m.Launched; c.Delays {
				c.Delayed = m.Delay - own.Delay
			}
		}
		out = append(out, c)
	}
	return out
}

// matched returns the counterparts of ops.
func (t *Timeline) matched() *match.Counterparts {
	t.pairing.Do(func() { t.pairs = t.a.Counterparts() })
	return t.pairs
}

// group identifies spans that have the same members.
type group struct {
	class  match.Class
	call   bool
	domain *match.Domain
	step   int
}

// groupOf returns the group of the work of a rank, and false if it is alone.
func (t *Timeline) groupOf(rank int, w work) (group, bool) {
	if w.op >= 0 {
		class, ok := t.matched().Class(rank, w.op)
		return group{class: class, call: w.call}, ok
	}
	return group{domain: t.domainOf(rank), step: int(w.step) + t.ranks[rank].First}, w.step >= 0
}

// sameStep returns the annotation of a step on a rank. known reports whether its steps can be compared.
func (t *Timeline) sameStep(rank, step int, known bool) Member {
	r := t.ranks[rank]
	m := Member{Link: Link{Rank: rank, Span: -1, Lane: -1}, Why: match.LacksStep}
	n := step - r.First
	switch {
	case !known:
		m.Why = match.Apart
	case n >= 0 && n < len(r.Steps):
		if span := r.stepSpan(n); span >= 0 {
			m.Link, m.Why = t.link(rank, span), ""
		}
	}
	return m
}

// stepSpan returns the span that is the annotation of a step, or -1 if steps were not found by annotations.
func (r *rank) stepSpan(n int) int32 {
	st := &r.Steps[n]
	from, _ := slices.BinarySearchFunc(r.t.Spans, st, func(s trace.Span, st *prep.Step) int {
		return cmp.Or(cmp.Compare(s.Track, st.Track), cmp.Compare(s.Start, st.Start))
	})
	for i := from; i < len(r.t.Spans) && r.t.Spans[i].Track == st.Track && r.t.Spans[i].Start == st.Start; i++ {
		if r.t.Spans[i].End() == st.End && r.t.Spans[i].Cat == trace.UserAnnotation {
			return int32(i)
		}
	}
	return -1
}

// around returns the spans that enclose a span, on the row of the span and among the Python frames of its thread.
func (t *Timeline) around(rank int, span int32) []Link {
	out := []Link{}
	r := t.ranks[rank]
	at := r.laneOf[span]
	if at < 0 {
		return out
	}
	start, _ := t.bounds(r, span)
	row := t.rowOf(int(at))
	add := func(row *Row, below int) {
		for k := below; k >= row.Lane && len(out) < mostAround; k-- {
			l := t.lanes[k]
			if i := l.before(start + 1); i > 0 && l.end[i-1] > start {
				out = append(out, t.link(rank, l.span[i-1]))
			}
		}
	}
	add(row, int(at)-1)
	if row.Role == RolePython {
		return out
	}
	for i := range t.rows {
		if p := &t.rows[i]; p.Rank == rank && p.Role == RolePython && p.track == row.track {
			add(p, p.Lane+p.Lanes-1)
		}
	}
	return out
}

// rowOf returns the row to which a lane belongs.
func (t *Timeline) rowOf(lane int) *Row {
	i, ok := slices.BinarySearchFunc(t.rows, lane, func(r Row, lane int) int { return cmp.Compare(r.Lane, lane) })
	if !ok {
		i--
	}
	return &t.rows[i]
}

func gridOf(r *rank, op int32) string {
	return sizes(r.t.Ops[r.t.Spans[r.Ops[op].Span].Detail].Grid)
}

// sizes formats the size of a grid or block. It returns "" if the size was not recorded.
func sizes(of [3]int32) string {
	if of == [3]int32{} {
		return ""
	}
	return fmt.Sprintf("%d × %d × %d", of[0], of[1], of[2])
}

// args returns the properties of a span as in the file, except its name and times.
func (t *Timeline) args(r *rank, s *trace.Span) []Arg {
	out := []Arg{}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Arg{name, columns.Clean(value)})
		}
	}
	number := func(name string, v int64, none int64) {
		if v != none {
			out = append(out, Arg{name, strconv.FormatInt(v, 10)})
		}
	}
	text := r.t.Strings.Get
	track := &r.t.Tracks[s.Track]
	switch {
	case s.Cat.OnGPU():
		o := &r.t.Ops[s.Detail]
		add("grid", sizes(o.Grid))
		add("block", sizes(o.Block))
		number("bytes", o.Bytes, 0)
		if o.Comm >= 0 {
			c := &r.t.Comms[o.Comm]
			add("collective", text(c.Name))
			add("data type", text(c.DType))
			number("elements in", c.In, 0)
			number("elements out", c.Out, 0)
			number("group size", int64(c.GroupSize), 0)
			add("group", text(c.Group))
			add("ranks", text(c.Ranks))
			number("sequence", c.Seq, -1)
		}
		if o.Move > 0 {
			m := &r.t.Moves[o.Move-1]
			add("requests", text(m.Requests))
			number("room", m.Room, 0)
		}
		number("device", int64(track.Device), -1)
		number("stream", track.Stream, -1)
	case s.Cat == trace.CPUOp && s.Detail >= 0:
		add("input dims", text(r.t.Shapes[s.Detail].Dims))
		add("input types", text(r.t.Shapes[s.Detail].Types))
	case s.Cat == trace.UserAnnotation && s.Detail > 0:
		add("requests", text(trace.StringID(s.Detail)))
	}
	number("correlation", s.Corr, 0)
	number("external id", s.Ext, 0)
	if !track.GPU {
		add("thread", track.TID)
	}
	return out
}

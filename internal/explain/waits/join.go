// Package waits explains the latency of the slow requests of a load: it joins the client's records with the forward
// steps in the traces of the servers.
//
// Both are placed on the wall clock, in nanoseconds since the epoch. Traces contain wall clock times; the times of
// records are converted by the run's StartWall. Requests are matched to steps by id if the server writes request ids
// into the names of its steps, as stepscope's own server does. Without such ids, requests are matched to steps by time.
// There may be several servers: equivalent servers that each serve some of the requests, or prefill and decode servers
// with KV transfers between them. docs/metrics.md defines the parts of a wait.
package waits

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
)

// Server is a server that served a load, or a part of the load; see [NewServer].
type Server struct {
	name  string // "": the only server
	role  string // api.Prefill, api.Decode, or "" for both
	lanes []*lane
}

// Rename changes the name of the server.
func (s *Server) Rename(name string) { s.name = name }

// Options configure Analyze.
type Options struct {
	Host string // host of the client; "": unknown
	Late []Late // steps lengthened by a late rank
}

// Late is an interval in which the ranks of one data-parallel rank waited for a late rank.
type Late struct {
	Server   string
	DP       int    // data-parallel rank; -1: all
	From, To int64  // ns since the epoch
	Cost     int64  // waiting time in the interval, ns
	ID       string // ID of the finding
	Title    fact.Fact
}

// Result explains the slow requests. docs/formats/analysis.md describes the JSON form. Times are in ns.
type Result struct {
	Run    int         `json:"run"`      // the repetition that contains the window, from 0
	By     string      `json:"steps_by"` // how requests were matched to steps: request ids, time
	Clock  Clock       `json:"clock"`
	Clocks []Clock     `json:"clocks"`     // one clock per host, if the servers are on several hosts
	Steps  int         `json:"load_steps"` // estimated number of forward steps of the whole load; 0: unknown
	TTFT   Tail        `json:"ttft"`
	ITL    Tail        `json:"itl"`
	Causes *Causes     `json:"causes"` // causes of the slowest tenth of TTFTs; nil: the run has none
	Late   []fact.Fact `json:"late"`   // descriptions of the late ranks for which requests waited
	Notes  []fact.Fact `json:"notes"`
}

// Ways of matching requests to steps.
const (
	ByID   = "request ids"
	ByTime = "time"
)

// Tail is the slow end of one latency.
type Tail struct {
	N   int   `json:"n"` // number of values in the whole run
	P99 int64 `json:"p99_ns"`
	// Below means that the recorded window contains no value at or above P99. Cases then holds only the slowest value
	// in the window.
	Below bool `json:"below"`
	// Sent is the start, in the run's time, of the slowest value of which windows touched less than a tenth: the send time for a TTFT, the
	// preceding token for a gap. -1: there is none. Touched means that windows touched more of all values of at
	// least P99, so that arming or exporting the profiler may have caused them.
	Sent    int64  `json:"sent_ns"`
	Touched bool   `json:"touched"`
	Cases   []Case `json:"cases"` // slowest first
	Sum     Wait   `json:"sum"`   // sum over all cases
}

// Case is one TTFT, or one time between two tokens.
type Case struct {
	Request string `json:"request"`
	Index   int    `json:"index"`
	Turn    int    `json:"turn"`
	Event   int    `json:"event"` // index of the late event among the events with text
	At      int64  `json:"at_ns"` // arrival of the event, in the run's time
	NS      int64  `json:"ns"`
	Server  string `json:"server"`        // server that ran the steps; "": the only server
	Decode  string `json:"decode_server"` // for a TTFT, the receiver of the KV transfer; "": not recorded, or none
	DP      int    `json:"dp_rank"`       // -1: the server has no such ranks
	DPFrom  string `json:"dp_rank_by"`    // source: server, request ids, time
	Steps   []int  `json:"steps"`         // the request's steps, numbered from 0 in the rank's file
	First   string `json:"first_step"`    // name of the first of these steps
	Wait    Wait   `json:"waited_for"`    // parts, which add up to NS
}

// Wait divides a latency into its parts. "Then" is the end of the part in the preceding line.
type Wait struct {
	NotRecorded  int64 `json:"not_recorded_ns"`
	Way          int64 `json:"way_ns"`           // disaggregated: from the client's send until the prefill server received the request
	Place        int64 `json:"place_ns"`         // from then until a decode server had memory for the request
	Queue        int64 `json:"queue_ns"`         // from then, or from sending, until the request's first step
	Prefill      int64 `json:"own_prefill_ns"`   // prefill steps that contained the request
	Decode       int64 `json:"own_decode_ns"`    // other steps that contained the request
	OtherPrefill int64 `json:"other_prefill_ns"` // other requests' prefill, after the request's first step began
	OtherSteps   int64 `json:"other_steps_ns"`   // other steps of other requests
	SlowRank     int64 `json:"slow_rank_ns"`     // parts of steps that waited for a late rank
	Stall        int64 `json:"stall_ns"`         // no step running, after the request's first step began
	Transfer     int64 `json:"transfer_ns"`      // from the end of the request's prefill to the end of its KV transfer
	Join         int64 `json:"join_ns"`          // from then until the request's first step on the decode server
	Reply        int64 `json:"reply_ns"`         // from the token's completion to its arrival at the client

	// QueueIdle is the part of Queue without a running step. QueuePrefill is the part of Queue in prefill steps of
	// other requests. QueueSlow is the part of Queue in which steps waited for a late rank. QueueUnseen is the part of
	// Queue before the window. Paused is the part of all waits in pauses of the server, and QueuePaused that of Queue.
	QueueIdle    int64 `json:"queue_idle_ns"`
	QueuePrefill int64 `json:"queue_prefill_ns"`
	QueueSlow    int64 `json:"queue_slow_rank_ns"`
	QueueUnseen  int64 `json:"queue_not_recorded_ns"`
	QueuePaused  int64 `json:"queue_paused_ns"`
	Paused       int64 `json:"paused_ns"`
}

func (w *Wait) parts() []*int64 {
	return []*int64{&w.NotRecorded, &w.Way, &w.Place, &w.Queue, &w.Prefill, &w.Decode, &w.OtherPrefill, &w.OtherSteps, &w.SlowRank, &w.Stall, &w.Transfer, &w.Join, &w.Reply}
}

// Total is the sum of the parts.
func (w *Wait) Total() (sum int64) {
	for _, p := range w.parts() {
		sum += *p
	}
	return sum
}

func (w *Wait) add(o *Wait) {
	of := o.parts()
	for i, p := range w.parts() {
		*p += *of[i]
	}
	of = o.details()
	for i, p := range w.details() {
		*p += *of[i]
	}
}

// details are parts of the parts.
func (w *Wait) details() []*int64 {
	return []*int64{&w.QueueIdle, &w.QueuePrefill, &w.QueueSlow, &w.QueueUnseen, &w.QueuePaused, &w.Paused}
}

// ErrApart means that the load and the recording do not overlap in time.
var ErrApart = errors.New("the recorded window lies outside the load: nothing to join")

// Analyze explains the slow requests.
func Analyze(runs []bench.Measured, servers []*Server, o Options) (*Result, error) {
	j, err := Join(runs, servers, o)
	if err != nil {
		return nil, err
	}
	return j.Slow(), nil
}

// Join joins the runs of a load, one of which was recorded, with the traces of the servers.
func Join(runs []bench.Measured, servers []*Server, o Options) (*Joined, error) {
	j := &Joined{By: ByTime, late: o.Late, used: map[string]bool{}, several: len(servers) > 1}
	for _, s := range servers {
		for _, l := range s.lanes {
			l.move(-l.shift) // undo the shift of an earlier join
			j.lanes = append(j.lanes, l)
			if s.role != api.Decode && len(l.steps) > 0 {
				j.first = append(j.first, l)
			}
			if s.role != api.Prefill && len(l.steps) > 0 {
				j.next = append(j.next, l)
			}
			j.apart = j.apart || s.role != ""
		}
	}
	if len(j.first)+len(j.next) == 0 {
		return nil, errNoSteps
	}
	best := int64(0)
	for i := range runs {
		from, to := extent(&runs[i])
		if n := j.recorded(from, to); n > best {
			best, j.Run = n, i
		}
	}
	// If clocks differ, the window may overlap another run by chance. Request ids resolve this.
	m := &runs[j.Run]
	j.run, j.records = m.Run, m.Records
	if j.byID = j.hasIDs(); j.byID {
		j.By = ByID
	}
	j.clocks = j.compareClocks(o.Host)
	if best == 0 && !slices.ContainsFunc(j.clocks, func(c Clock) bool { return c.Shift != 0 }) {
		return nil, ErrApart
	}
	return j, nil
}

// Slow explains the slow requests.
func (j *Joined) Slow() *Result {
	r := &Result{Run: j.Run, By: j.By, Clock: j.clocks[0], Clocks: []Clock{}, Late: []fact.Fact{}, Notes: []fact.Fact{}}
	if len(j.clocks) > 1 {
		r.Clocks = j.clocks
	}
	r.Steps = j.steps()
	r.TTFT = j.tail(j.ttfts())
	r.ITL = j.tail(j.gaps())
	r.Causes = j.causes()
	for _, l := range j.late {
		if j.used[l.ID] {
			r.Late = append(r.Late, l.Title)
			delete(j.used, l.ID) // a finding has several steps, but is listed once
		}
	}
	if !j.byID {
		r.Notes = append(r.Notes, fact.Of("waits_by_time"))
	}
	if j.guessed {
		who := fact.Of("waits_guessed_rank")
		if j.several {
			who = fact.Of("waits_guessed_server")
		}
		r.Notes = append(r.Notes, who)
	}
	r.Notes = append(r.Notes, j.apartNotes(r)...)
	for i := range j.clocks {
		if d := j.clocks[i].known(); d.Key != "" {
			r.Notes = append(r.Notes, d)
		}
	}
	return r
}

// Joined is a load joined with the steps of its servers. It is not safe for concurrent use, and only one join of the
// same servers may be in use.
type Joined struct {
	Run int    // the repetition that contains the window, from 0
	By  string // way of matching requests to steps: ByID, ByTime

	clocks  []Clock // at least one clock
	in      [][]Place
	batch   map[Place][]int
	run     *bench.Run
	records []bench.Record
	lanes   []*lane
	first   []*lane // lanes that may produce the first tokens of requests
	next    []*lane // lanes that may produce further tokens
	apart   bool    // prefill and decode are disaggregated
	several bool    // there are several servers
	late    []Late
	byID    bool
	guessed bool
	unmet   int             // number of requests for which no decode server recorded the KV transfer
	used    map[string]bool // IDs of the entries in late that apply
}

// extent returns the start and end of a run, in ns since the epoch.
func extent(m *bench.Measured) (from, to int64) {
	from = m.Run.StartWall
	to = from
	for i := range m.Records {
		to = max(to, from+m.Records[i].Done)
	}
	return from, to
}

// recorded returns how much of an interval was recorded, for the lane that recorded the most.
func (j *Joined) recorded(from, to int64) (most int64) {
	for _, l := range j.lanes {
		most = max(most, l.recorded(from, to))
	}
	return most
}

// wall converts a time of the run to ns since the epoch, on the client's clock.
func (j *Joined) wall(at int64) int64 {
	if j.run.Duration > 0 {
		// Correct the drift of the wall clock, which is assumed to be constant.
		at += int64(float64(j.run.Drift) * float64(at) / float64(j.run.Duration))
	}
	return j.run.StartWall + at
}

// slow is a latency that may become a case.
type slow struct {
	r        *bench.Record
	event    int
	from, to int64 // start and end, in the run's time
}

func (s *slow) ns() int64 { return s.to - s.from }

func (j *Joined) ttfts() (all []slow) {
	for i := range j.records {
		if s, ok := ttft(&j.records[i]); ok {
			all = append(all, s)
		}
	}
	return all
}

func ttft(r *bench.Record) (s slow, ok bool) {
	_, ok = r.TTFT()
	return slow{r, 0, r.Sent, r.First}, ok && r.OK()
}

func (j *Joined) gaps() (all []slow) {
	for i := range j.records {
		all = append(all, gaps(&j.records[i])...)
	}
	return all
}

// gaps returns the times between successive events with text.
func gaps(r *bench.Record) (all []slow) {
	if !r.OK() {
		return nil
	}
	n, last := 0, bench.Never
	for _, c := range r.Chunks {
		if !c.Text {
			continue
		}
		if last != bench.Never {
			all = append(all, slow{r, n, last, c.At})
		}
		n, last = n+1, c.At
	}
	return all
}

// tail explains the slow values inside the window.
func (j *Joined) tail(all []slow) Tail {
	t := Tail{N: len(all), Cases: []Case{}}
	if t.N == 0 {
		return t
	}
	sorts.Stable(all, func(a, b slow) int { return cmp.Compare(b.ns(), a.ns()) })
	ascending := make([]int64, len(all))
	for i := range all {
		ascending[len(all)-1-i] = all[i].ns()
	}
	p99 := metric.Quantile(ascending, 0.99)
	t.P99, t.Sent = int64(p99), bench.Never
	for i := range all {
		if s := &all[i]; !j.run.Touches(s.from, s.to) {
			t.Sent, t.Touched = s.from, float64(s.ns()) < p99
			break
		}
	}
	for i := range all {
		below := float64(all[i].ns()) < p99
		if below && len(t.Cases) > 0 {
			break
		}
		if c, ok := j.explain(&all[i]); ok {
			t.Cases = append(t.Cases, c)
			t.Sum.add(&c.Wait)
			t.Below = below
		}
	}
	return t
}

// explain divides a latency into its parts. ok is false if the latency did not end in the recorded window, or if none
// of its steps was recorded.
func (j *Joined) explain(s *slow) (c Case, ok bool) {
	from, to := j.wall(s.from), j.wall(s.to)
	l, own, made, how := j.cameOf(s, from, to)
	if l == nil {
		return c, false
	}
	c = Case{Request: s.r.ID, Index: s.r.Index, Turn: s.r.Turn, Event: s.event, At: s.to, NS: to - from, Server: l.server.name, DP: l.dp, DPFrom: how, Steps: own, First: l.steps[own[0]].name}
	if c.Request == "" {
		c.Request = fmt.Sprintf("#%d", s.r.Index)
	}
	j.guessed = j.guessed || how == ByTime
	switch {
	case l.server.role == api.Prefill && j.byID:
		j.handOver(&c, l, s, from, made, to)
	case j.joins(l, s, own, from):
		c.Wait = j.waits(l, from, made, own, l.steps[own[0]].from)
		c.Wait.asJoin()
		c.Wait.Reply = to - made
	default:
		begun := from // time until which the request is in the queue
		if s.event == 0 {
			begun = max(from, l.steps[own[0]].from)
		}
		c.Wait = j.waits(l, from, made, own, begun)
		c.Wait.Reply = to - made
		if s.event == 0 && l.isFirst(own[0], s.r, j.byID) {
			c.Wait.QueueUnseen = min(c.Wait.NotRecorded, begun-from-l.recorded(from, begun))
			c.Wait.Queue += c.Wait.QueueUnseen
			c.Wait.NotRecorded -= c.Wait.QueueUnseen
		}
	}
	return c, true
}

// cameOf finds the steps that produced the token that arrived at the time to. made is the time at which this token was
// complete. The lane is nil if the token did not arrive in the recorded window, or if none of these steps was recorded.
func (j *Joined) cameOf(s *slow, from, to int64) (l *lane, own []int, made int64, how string) {
	lanes := j.next
	if s.event == 0 {
		lanes = j.first
	}
	if !slices.ContainsFunc(lanes, func(l *lane) bool { return l.holds(to) }) {
		return nil, nil, 0, "" // most tokens end here, which avoids slow work
	}
	l, how = j.laneOf(lanes, s, from, to)
	if l == nil || !l.holds(to) {
		return nil, nil, 0, ""
	}
	if own = j.own(l, s, from, to); len(own) == 0 {
		return nil, nil, 0, ""
	}
	made = l.made(own, to, s.event == 0 && firstToken(s.r) == s.r.First)
	own = slices.DeleteFunc(own, func(i int) bool { return l.steps[i].to > made && l.steps[i].from >= made })
	return l, own, made, how
}

// steps estimates the number of forward steps of the load from the mean time between recorded steps.
func (j *Joined) steps() (most int) {
	for _, l := range j.lanes {
		if n := len(l.steps); n > 1 && j.run.Duration > 0 {
			each := float64(l.steps[n-1].from-l.steps[0].from) / float64(n-1)
			most = max(most, int(float64(j.run.Duration)/max(each, 1)))
		}
	}
	return most
}

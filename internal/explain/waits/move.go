package waits

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// move is a request's KV transfer as recorded by a prefill or decode server. stepscope's servers record a transfer as
// copies that name the request and its room. A time is 0 if it was not recorded.
type move struct {
	named  bool  // the request id is known
	came   int64 // prefill: arrival of the request
	opened int64 // prefill: a decode server had memory for the request
	began  int64 // start of the first part of the KV transfer
	sent   int64 // prefill: end of the last part
	got    int64 // decode: end of the last part
}

// at returns a time at which the request is known to have been in transfer. The end of sending is not suitable, because
// a prefill server may notice the end after the client has received the token.
func (m *move) at() int64 { return cmp.Or(max(m.came, m.opened), m.began) }

// roomOf is the key by which both sides of a transfer are found: the room or, if it is unknown, the request.
type roomOf struct {
	room int64
	id   string
}

// addMoves adds the transfers recorded by a rank.
func (l *lane) addMoves(t *trace.Trace) {
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.Memcpy || s.Detail < 0 || t.Ops[s.Detail].Move == 0 {
			continue
		}
		m := &t.Moves[t.Ops[s.Detail].Move-1]
		id := ""
		if ids := trace.RequestIDs(t.Strings.Get(m.Requests)); len(ids) > 0 {
			id = ids[0] // a room belongs to one request
		}
		key := roomOf{room: m.Room}
		if m.Room == 0 {
			key.id = id
		}
		of := l.rooms[key]
		if of == nil {
			of = &move{}
			l.rooms[key] = of
		}
		if id != "" && !of.named {
			of.named = true
			l.moves[id] = append(l.moves[id], of)
		}
		switch kind, _, _ := strings.Cut(t.Strings.Get(s.Name), " "); kind {
		case "kv_wait":
			of.came = s.Start
		case "kv_open":
			of.opened = s.Start
		case "kv_send":
			of.begin(s.Start)
			of.sent = max(of.sent, s.End())
		case "kv_recv":
			of.begin(s.Start)
			of.got = max(of.got, s.End())
		}
	}
}

func (m *move) begin(at int64) {
	if m.began == 0 || at < m.began {
		m.began = at
	}
}

// moved returns the last move of a request in an interval, since earlier moves failed.
func (l *lane) moved(id string, from, to int64) (last *move) {
	for _, m := range l.moves[id] {
		if at := m.at(); from <= at && at <= to && (last == nil || at > last.at()) {
			last = m
		}
	}
	return last
}

// handOver divides the TTFT of a request into its parts, and sets the decode server of c. The TTFT is the interval
// [from, to). The prefill ended on lane l at the time made.
func (j *Joined) handOver(c *Case, l *lane, s *slow, from, made, to int64) {
	w, m := &c.Wait, l.moved(s.r.ID, from, to)
	if m != nil {
		// If a decode server failed and the router retried the request, earlier steps do not count.
		c.begin(l, max(m.came, m.opened))
	}
	begun := min(max(from, l.steps[c.Steps[0]].from), made)
	// If a server did not record a time, that time was before the window. The queue begins no earlier than the request
	// was sent.
	came, opened := from, from
	if m != nil {
		came = min(max(came, m.came), begun)
		opened = min(max(came, m.opened), begun)
	}
	w.Way = l.recorded(from, came)
	w.Place = l.recorded(came, opened)
	w.NotRecorded = opened - from - w.Way - w.Place
	rest := j.waits(l, opened, made, c.Steps, begun)
	w.add(&rest)

	d, got := j.gotBy(s.r, made, from, to)
	if d == nil {
		j.unmet++
		got = made
		if m != nil {
			got = min(max(made, m.sent), to)
		}
		w.Transfer, w.Reply = got-made, to-got
		return
	}
	c.Decode = d.server.name
	w.Transfer = got - made
	// The decode server sends the first token before it computes the next one. If that token is only a part of a
	// character, the text comes from a later step.
	if firstToken(s.r) != s.r.First {
		var later []int
		for _, i := range d.of[s.r.ID] {
			if p := &d.steps[i]; p.from >= got && p.to <= to {
				later = append(later, i)
			}
		}
		if len(later) > 0 {
			end := d.steps[later[len(later)-1]].to
			rest := j.waits(d, got, end, later, d.steps[later[0]].from)
			rest.asJoin()
			w.add(&rest)
			got = end
		}
	}
	w.Reply = to - got
}

// begin removes the steps that ended no later than the time by. If all steps ended by then, it removes none.
func (c *Case) begin(l *lane, by int64) {
	if i := slices.IndexFunc(c.Steps, func(i int) bool { return l.steps[i].to > by }); i > 0 {
		c.Steps, c.First = c.Steps[i:], l.steps[c.Steps[i]].name
	}
}

// gotBy returns the lane that received a request's KV transfer, and the end of the transfer. The lane is nil if it was
// not recorded.
func (j *Joined) gotBy(r *bench.Record, made, from, to int64) (d *lane, got int64) {
	for _, l := range j.lanes {
		if m := l.moved(r.ID, from, to); l.server.role == api.Decode && m != nil && m.got > got {
			d, got = l, m.got
		}
	}
	return d, min(max(got, made), to)
}

// joins reports whether a slow time between tokens includes the wait for the request's first decode step. The first gap
// includes it, since the prefill server produced the first token.
func (j *Joined) joins(l *lane, s *slow, own []int, from int64) bool {
	if !j.byID || l.server.role != api.Decode || s.event != 1 || !l.holds(from) {
		return false
	}
	for _, i := range l.of[s.r.ID] {
		if p := &l.steps[i]; p.from >= j.wall(s.r.Sent) {
			return i == own[0]
		}
	}
	return false
}

// asJoin counts the time in the queue as waiting to join a decode batch.
func (w *Wait) asJoin() {
	w.Join, w.Queue = w.Queue, 0
	w.Paused -= w.QueuePaused
	for _, p := range []*int64{&w.QueueIdle, &w.QueuePrefill, &w.QueueSlow, &w.QueueUnseen, &w.QueuePaused} {
		*p = 0
	}
}

// apartNotes returns notes on the limitations of the figures for disaggregated serving.
func (j *Joined) apartNotes(r *Result) (notes []fact.Fact) {
	if !j.apart {
		return nil
	}
	prefill, decode, marked := false, false, false
	for _, l := range j.lanes {
		prefill, decode = prefill || l.server.role != api.Decode, decode || l.server.role != api.Prefill
		for _, m := range l.rooms {
			marked = marked || j.byID && m.opened != 0
		}
	}
	if !prefill {
		notes = append(notes, fact.Of("waits_no_prefill"))
	}
	if n := len(r.TTFT.Cases); n > 0 {
		if !marked {
			notes = append(notes, fact.Of("waits_no_places"))
		}
		met := slices.ContainsFunc(r.TTFT.Cases, func(c Case) bool { return c.Decode != "" })
		switch {
		case !met:
			notes = append(notes, fact.Of("waits_none_met"))
		case j.unmet > 0:
			notes = append(notes, fact.Of("waits_some_met", "n", j.unmet))
		}
	}
	if !decode {
		notes = append(notes, fact.Of("waits_no_decode"))
	}
	return notes
}

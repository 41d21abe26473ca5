package join

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/trace"
)

// move is what a prefill or decode server recorded of a request on its way from one
// to the other: stepscope's servers do, as copies that name the request and its room.
// A time is 0 if nothing was recorded of it.
type move struct {
	named  bool  // the request is known
	came   int64 // prefill: the request was there
	opened int64 // prefill: a decode server had a place for it
	sent   int64 // prefill: the last of its keys and values was gone
	got    int64 // decode: the last of them had come
}

// addMoves takes in what a rank recorded.
func (l *lane) addMoves(t *trace.Trace) {
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.Memcpy || s.Detail < 0 || t.Ops[s.Detail].Move == 0 {
			continue
		}
		m := &t.Moves[t.Ops[s.Detail].Move-1]
		kind, _, _ := strings.Cut(t.Strings.Get(s.Name), " ")
		of := l.rooms[m.Room]
		if of == nil {
			of = &move{}
			l.rooms[m.Room] = of
		}
		if id := t.Strings.Get(m.Requests); id != "" && !of.named {
			of.named = true
			id = idsOf(t, m.Requests)[0] // a room is of one
			l.moves[id] = append(l.moves[id], of)
		}
		switch kind {
		case "kv_wait":
			of.came = s.Start
		case "kv_open":
			of.opened = s.Start
		case "kv_send":
			of.sent = max(of.sent, s.End())
		case "kv_recv":
			of.got = max(of.got, s.End())
		}
	}
}

// moved is the last move of a request in a time: one before it failed.
func (l *lane) moved(id string, from, to int64) (last *move) {
	for _, m := range l.moves[id] {
		at := max(m.came, m.opened, m.sent, m.got)
		if from <= at && at <= to && (last == nil || at > max(last.came, last.opened, last.sent, last.got)) {
			last = m
		}
	}
	return last
}

// handOver divides the TTFT from..to of a request whose prefill was done on l by the
// time made, and says to which decode server it went.
func (j *joiner) handOver(w *Wait, l *lane, s *slow, from, made, to int64, own []int) (decode string) {
	begun := min(max(from, l.steps[own[0]].from), made)
	// What a server does not show was before the window; the queue begins after it.
	came, opened := from, from
	if m := l.moved(s.r.ID, from, to); m != nil {
		came = min(max(came, m.came), begun)
		opened = min(max(came, m.opened), begun)
	}
	w.Way = l.recorded(from, came)
	w.Place = l.recorded(came, opened)
	w.NotRecorded = opened - from - w.Way - w.Place
	rest := j.waits(l, opened, made, own, begun)
	w.add(&rest)

	d, got := j.gotBy(s.r, made, from, to)
	if d == nil {
		j.unmet++
		if m := l.moved(s.r.ID, from, to); m != nil {
			got = min(max(made, m.sent), to)
		} else {
			got = made
		}
		w.Transfer, w.Reply = got-made, to-got
		return ""
	}
	w.Transfer = got - made
	// The decode server gives the first token away before it makes the next; where that
	// was a part of a character, the text comes of a later step.
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
	return d.server.Name
}

// gotBy finds where and when the keys and values of a request had come; nil: nobody
// recorded it.
func (j *joiner) gotBy(r *bench.Record, made, from, to int64) (d *lane, got int64) {
	for _, l := range j.next {
		if m := l.moved(r.ID, from, to); l.server.Role == Decode && m != nil && m.got > got {
			d, got = l, m.got
		}
	}
	return d, min(max(got, made), to)
}

// joins tells whether a slow time between tokens is that before the request's first
// decode step: the first token was of the prefill server.
func (j *joiner) joins(l *lane, s *slow, own []int, from int64) bool {
	if !j.byID || l.server.Role != Decode || s.event != 1 || !l.holds(from) {
		return false
	}
	for _, i := range l.of[s.r.ID] {
		if p := &l.steps[i]; p.from >= j.wall(s.r.Sent) {
			return i == own[0]
		}
	}
	return false
}

// asJoin makes of the time before a first step that of waiting for a decode batch.
func (w *Wait) asJoin() {
	w.Join, w.Queue, w.QueueIdle, w.QueuePrefill = w.Queue, 0, 0, 0
}

// apartNotes are what limits the figures where prefill and decode are apart.
func (j *joiner) apartNotes(r *Result) (notes []string) {
	if !j.apart {
		return nil
	}
	marked := false
	for _, l := range j.first {
		for _, m := range l.rooms {
			marked = marked || j.byID && m.opened != 0
		}
	}
	if len(j.first) == 0 {
		notes = append(notes, "no prefill server was recorded: what TTFTs waited for is not known")
	}
	if n := len(r.TTFT.Cases); n > 0 {
		if !marked {
			notes = append(notes, "the traces do not show when a decode server had a place for a request: that wait is in the queue")
		}
		met := slices.ContainsFunc(r.TTFT.Cases, func(c Case) bool { return c.Decode != "" })
		switch {
		case !met:
			notes = append(notes, "no decode server was seen to get a request's keys and values: what followed its prefill, or the sending where that is known, is in the reply's way")
		case j.unmet > 0:
			notes = append(notes, fmt.Sprintf("of %d of the slow TTFTs no decode server was seen to get keys and values: what followed the sending is in the reply's way", j.unmet))
		}
	}
	if len(j.next) == 0 {
		notes = append(notes, "no decode server was recorded: what ITLs waited for is not known")
	}
	return notes
}

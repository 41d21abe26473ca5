package waits

import (
	"math"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/trace"
)

// Clock describes the offset between the client's clock and the clock of a server's host. All steps of a request begin
// after the request was sent, and the first of these steps ends before the first token arrives. Steps with request ids
// therefore bound the offset of the server's clock.
type Clock struct {
	Host    string `json:"host"` // host of the server; "": unknown
	OneHost bool   `json:"one_host"`
	Drift   int64  `json:"drift_ns"` // drift of the client's wall clock over the run; already corrected
	Bounded bool   `json:"bounded"`
	Lo      int64  `json:"ahead_lo_ns"`
	Hi      int64  `json:"ahead_hi_ns"`
	Shift   int64  `json:"shift_ns"` // time subtracted from the server's times
	several bool   // there are several hosts
}

// compareClocks bounds the clock offset of each host, and corrects offsets that are certain.
func (j *Joined) compareClocks(client string) (clocks []Clock) {
	of := map[string][]*lane{}
	for _, l := range j.lanes {
		if of[l.host] == nil {
			clocks = append(clocks, Clock{Host: l.host, Drift: j.run.Drift, OneHost: client != "" && l.host == client})
		}
		of[l.host] = append(of[l.host], l)
	}
	for i := range clocks {
		c := &clocks[i]
		c.several = len(clocks) > 1
		if !j.byID {
			continue
		}
		lo, hi := j.ahead(of[c.Host])
		if lo == math.MinInt64 || hi == math.MaxInt64 || lo > hi {
			continue
		}
		c.Bounded, c.Lo, c.Hi = true, lo, hi
		if c.OneHost || lo <= 0 && hi >= 0 {
			continue
		}
		c.Shift = lo + (hi-lo)/2
		for _, l := range of[c.Host] {
			l.move(-c.Shift)
		}
	}
	return clocks
}

// ahead bounds how far the clock of the given lanes is ahead of the client's clock.
func (j *Joined) ahead(lanes []*lane) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	for i := range j.records {
		r := &j.records[i]
		if _, ok := r.TTFT(); !ok {
			continue
		}
		for _, l := range lanes {
			own := l.of[r.ID]
			if len(own) == 0 {
				continue
			}
			// The KV transfer of a request ends before its first token arrives.
			if m := l.moves[r.ID]; len(m) == 1 && m[0].got != 0 {
				hi, lo = min(hi, m[0].got-j.wall(r.Sent)), max(lo, m[0].got-j.wall(r.First))
			}
			s := &l.steps[own[0]]
			hi = min(hi, s.from-j.wall(r.Sent))
			// Any prefill step of the request is sufficient. If a request was retracted before the window and restarted
			// inside it, the bounds contradict each other.
			if s.kind == trace.Prefill {
				lo = max(lo, s.to-j.wall(r.First))
			}
		}
	}
	return lo, hi
}

// move shifts all times of the lane by the given ns.
func (l *lane) move(by int64) {
	l.shift += by
	for i := range l.steps {
		l.steps[i].from, l.steps[i].to = l.steps[i].from+by, l.steps[i].to+by
	}
	for i := range l.windows {
		l.windows[i].from, l.windows[i].to = l.windows[i].from+by, l.windows[i].to+by
	}
	for i := range l.pauses {
		l.pauses[i].from, l.pauses[i].to = l.pauses[i].from+by, l.pauses[i].to+by
	}
	for _, m := range l.rooms {
		for _, at := range []*int64{&m.came, &m.opened, &m.began, &m.sent, &m.got} {
			if *at != 0 {
				*at += by
			}
		}
	}
}

// known describes the accuracy of the clock. The result is empty if client and server are on one host.
func (c *Clock) known() (f fact.Fact) {
	server := fact.Of("waits_server")
	switch {
	case c.several && c.Host == "":
		server = fact.Of("waits_server_unknown")
	case c.several:
		server = fact.Of("waits_server_on", "host", c.Host)
	}
	switch {
	case c.Shift != 0:
		f = fact.Of("waits_clocks_moved", "server", server, "shift", c.Shift, "within", (c.Hi-c.Lo)/2)
	case c.OneHost:
	case c.Bounded:
		f = fact.Of("waits_clocks_bounded", "server", server, "lo", c.Lo, "hi", c.Hi)
	default:
		f = fact.Of("waits_clocks_unknown", "server", server)
	}
	return f
}

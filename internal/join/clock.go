package join

import (
	"fmt"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/metric"
	"github.com/stepscope/stepscope/trace"
)

// Clock says how the client's clock and the server's agree. A step that a
// request is in begins after it was sent, and ends before its first token comes:
// so request ids bound what the server's clock is ahead by.
type Clock struct {
	OneHost bool  `json:"one_host"`
	Drift   int64 `json:"drift_ns"` // of the wall clock over the run, taken out
	Bounded bool  `json:"bounded"`
	Lo      int64 `json:"ahead_lo_ns"`
	Hi      int64 `json:"ahead_hi_ns"`
	Shift   int64 `json:"shift_ns"` // added to the client's times
	client  string
	server  string
}

func (j *joiner) compareClocks(client string, traces []*trace.Trace) Clock {
	c := Clock{Drift: j.run.Drift, client: client, server: j.lanes[0].host}
	c.OneHost = client != "" && !slices.ContainsFunc(traces, func(t *trace.Trace) bool { return t.Source.Host != client })
	if !j.byID {
		return c
	}
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	for i := range j.records {
		r := &j.records[i]
		if _, ok := r.TTFT(); !ok {
			continue
		}
		for _, l := range j.lanes {
			own := l.of[r.ID]
			if len(own) == 0 {
				continue
			}
			s := &l.steps[own[0]]
			hi = min(hi, s.from-j.wall(r.Sent))
			// Any part of its prompt will do. (A request that was retracted before the
			// window began, and is begun anew in it, makes the bounds cross.)
			if s.kind == trace.Prefill {
				lo = max(lo, s.to-j.wall(r.First))
			}
		}
	}
	if lo == math.MinInt64 || hi == math.MaxInt64 || lo > hi {
		return c
	}
	c.Bounded, c.Lo, c.Hi = true, lo, hi
	if !c.OneHost && (lo > 0 || hi < 0) {
		c.Shift = lo + (hi-lo)/2
		j.shift = c.Shift
	}
	return c
}

// text is what to know of the clocks; "": nothing.
func (c *Clock) text() string {
	switch {
	case c.Shift != 0:
		return fmt.Sprintf("the clocks of client and server differ: %s were added to the client's times, right within %s", metric.Duration(c.Shift), metric.Duration((c.Hi-c.Lo)/2))
	case c.OneHost:
		return ""
	case c.Bounded:
		return fmt.Sprintf("client and server are not known to be one host; by their requests the server's clock is ahead by something between %s and %s", metric.Duration(c.Lo), metric.Duration(c.Hi))
	}
	return "client and server are not known to be one host, and nothing bounds how much their clocks differ: times from one to the other (queue, reply) may be wrong by that"
}

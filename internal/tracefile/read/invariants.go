package read

import (
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// checkInvariants adds notes about violations to t, whose spans must be in order of time. It shortens a GPU op that
// ends too late to the start of the next op of its stream. lost is as in checkHost.
func checkInvariants(t *trace.Trace, lost bool) {
	odd := trace.Tally{}
	last := make([]int, len(t.Tracks)) // index of the latest GPU op of each track, plus 1
	calls := make([]ids, len(t.Tracks))
	nests := make([]struct{ calls, steps trace.Nest }, len(t.Tracks))
	back := int64(0)
	for i := range t.Spans {
		s := &t.Spans[i]
		crosses := false
		switch s.Cat {
		case trace.CPUOp, trace.Runtime, trace.Driver:
			crosses = nests[s.Track].calls.Crosses(s.Start, s.End())
		case trace.UserAnnotation:
			if _, step := trace.ParseStep(t.Strings.Get(s.Name)); step {
				crosses = nests[s.Track].steps.Crosses(s.Start, s.End())
			}
		}
		if crosses {
			odd.Add(trace.NoteCross, 1)
		}
		switch s.Cat {
		case trace.Kernel, trace.Memcpy, trace.Memset:
			if p := last[s.Track]; p > 0 {
				if before := &t.Spans[p-1]; before.End() > s.End()+trace.RunsOnLeast {
					if before.Dur = s.Dur; s.Start > before.Start {
						before.Dur = s.Start - before.Start
					}
					odd.Add(trace.NoteRunsOn, 1)
				}
			}
			last[s.Track] = i + 1
		case trace.Runtime, trace.Driver:
			if s.Corr <= 0 {
				continue
			}
			if by := calls[s.Track].highest(t, i); by > 0 {
				odd.Add(trace.NoteSetBack, 1)
				back = max(back, by)
			}
		}
	}
	for _, n := range odd.Notes(t.Source.Path) {
		n.End = back
		t.Notes = append(t.Notes, n)
	}
	checkHost(t, lost)
}

// ids holds the API calls of a track so far.
type ids struct {
	calls []int // indices of spans
	next  int   // first call that began less than trace.SetBackLeast before the latest call
	high  int   // the span with the highest correlation id before next, + 1
}

// highest adds the call of a span. If a call with a higher correlation id began earlier by at least trace.SetBackLeast,
// highest returns the difference between the start times. Otherwise it returns 0.
func (c *ids) highest(t *trace.Trace, i int) int64 {
	s := &t.Spans[i]
	for ; c.next < len(c.calls) && s.Start-t.Spans[c.calls[c.next]].Start > trace.SetBackLeast; c.next++ {
		if at := c.calls[c.next]; c.high == 0 || t.Spans[at].Corr > t.Spans[c.high-1].Corr {
			c.high = at + 1
		}
	}
	c.calls = append(c.calls, i)
	if c.high == 0 || t.Spans[c.high-1].Corr <= s.Corr {
		return 0
	}
	return s.Start - t.Spans[c.high-1].Start
}

// host checks the API calls of a trace against the GPU ops that they started.
type host struct {
	t       *trace.Trace
	last    map[int64]int32 // correlation id -> index of the op that ends last
	kinds   []trace.Call    // by name
	threads []thread        // by track
}

// thread is the state of one thread.
type thread struct {
	trace.Launching
	trace.Waits
}

// checkHost adds notes about GPU ops that end after the synchronisation that waited for them. If lost is set, it also
// adds notes about launches without a GPU op, which mean that the profiler dropped records. A trace in which no launch
// has a GPU op, such as a trace without GPU activity, gets no note.
func checkHost(t *trace.Trace, lost bool) {
	h := host{t: t, last: map[int64]int32{}, kinds: make([]trace.Call, t.Strings.Len()), threads: make([]thread, len(t.Tracks))}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Corr > 0 && s.Cat.OnGPU() {
			if at, ok := h.last[s.Corr]; !ok || t.Spans[at].End() < s.End() {
				h.last[s.Corr] = int32(i)
			}
		}
	}
	if len(h.last) == 0 {
		return
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == trace.Runtime || s.Cat == trace.Driver {
			h.call(s)
		}
	}
	launches, without, late := int64(0), int64(0), int64(0)
	for i := range h.threads {
		late += h.threads[i].Late
		for _, id := range h.threads[i].IDs {
			launches++
			if _, ok := h.last[id]; !ok {
				without++
			}
		}
	}
	if late > 0 {
		t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteLateOps, Source: t.Source.Path, Count: late})
	}
	if lost && without < launches && float64(without) > trace.LostLeast*float64(launches) {
		t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteLostOps, Source: t.Source.Path, Count: without, Lost: launches})
	}
}

func (h *host) call(s *trace.Span) {
	if h.kinds[s.Name] == 0 {
		h.kinds[s.Name] = trace.CallOf(h.t.Strings.Get(s.Name))
	}
	kind, th := h.kinds[s.Name], &h.threads[s.Track]
	var op *trace.LastOp
	if at, ok := h.last[s.Corr]; ok && s.Corr > 0 {
		o := &h.t.Spans[at]
		op = &trace.LastOp{Stream: int64(o.Track), End: o.End(), ToHost: o.Cat == trace.Memcpy && strings.Contains(h.t.Strings.Get(o.Name), "DtoH")}
	}
	th.Waits.Add(kind, s.End(), op)
	if kind != trace.Launches || s.Corr > 0 {
		th.Launching.Add(kind, s.Corr)
	}
}

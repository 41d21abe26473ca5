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
	back := int64(0)
	for i := range t.Spans {
		s := &t.Spans[i]
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
	late    int64
}

// thread is the state of one thread.
type thread struct {
	trace.Launching
	queued map[trace.TrackID][]int64 // by stream: ends of the ops launched since the last wait for the stream
	copied int32                     // index of the op of the previous call, + 1, if that call copied to the host
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
	if h.late > 0 {
		t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteLateOps, Source: t.Source.Path, Count: h.late})
	}
	launches, without := int64(0), int64(0)
	for i := range h.threads {
		for _, id := range h.threads[i].IDs {
			launches++
			if _, ok := h.last[id]; !ok {
				without++
			}
		}
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
	switch kind {
	case trace.WaitsDevice:
		for stream := range th.queued {
			h.wait(th, stream, s.End())
		}
	case trace.WaitsStream:
		// The call does not say for which stream it waits. A copy to the host just before it shows the stream.
		if at := th.copied; at > 0 {
			h.wait(th, h.t.Spans[at-1].Track, s.End())
		}
	}
	at, ok := h.last[s.Corr]
	if ok && s.Corr > 0 {
		if th.queued == nil {
			th.queued = map[trace.TrackID][]int64{}
		}
		op := &h.t.Spans[at]
		th.queued[op.Track] = append(th.queued[op.Track], op.End())
	}
	th.copied = 0
	if ok && kind == trace.Copies && strings.Contains(h.t.Strings.Get(h.t.Spans[at].Name), "DtoH") {
		th.copied = at + 1
	}
	if kind != trace.Launches || s.Corr > 0 {
		th.Add(kind, s.Corr)
	}
}

// wait counts the queued ops of a stream that end after a wait for the stream.
func (h *host) wait(th *thread, stream trace.TrackID, end int64) {
	for _, at := range th.queued[stream] {
		if at > end+trace.LateLeast {
			h.late++
		}
	}
	th.queued[stream] = th.queued[stream][:0]
}

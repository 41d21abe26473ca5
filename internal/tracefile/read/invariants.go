package read

import "github.com/stepscope/stepscope/trace"

// Invariants of recordings. None is violated in captures of SGLang 0.5.11 and 0.5.17 and vLLM 0.26 on H100 and H200, with
// and without injected faults.
//
//   - A GPU op ends before a later op of its stream ends. Ops may overlap (programmatic dependent launch), but a stream
//     completes them in order. Some ROCm captures report kernels that end 25 ms too late.
//   - Correlation ids of a thread's API calls rise with time. In order of time they fall only where the clock was set
//     back.
//   - Each launch has a GPU op, except a launch that is recorded into a CUDA graph during graph capture.
const (
	runsOnLeast  = 1_000   // ns: an op that ends too late by less than this is not a violation
	setBackLeast = 100_000 // ns: a clock that goes back by less than this is not a violation
	lostLeast    = 0.01    // share of launches without a GPU op above which records are lost
)

// checkInvariants adds notes about violations to t, whose spans must be in order of time. It shortens a GPU op that
// ends too late to the start of the next op of its stream.
func checkInvariants(t *trace.Trace) {
	odd := trace.Tally{}
	last := make([]int, len(t.Tracks)) // index of the latest GPU op of each track, plus 1
	calls := make([]ids, len(t.Tracks))
	back := int64(0)
	for i := range t.Spans {
		s := &t.Spans[i]
		switch s.Cat {
		case trace.Kernel, trace.Memcpy, trace.Memset:
			if p := last[s.Track]; p > 0 {
				if before := &t.Spans[p-1]; before.End() > s.End()+runsOnLeast {
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
	noteLost(t)
}

// ids holds the API calls of a track so far.
type ids struct {
	calls []int // indices of spans
	next  int   // first call that began less than setBackLeast before the latest call
	high  int   // the span with the highest correlation id before next, + 1
}

// highest adds the call of a span. If a call with a higher correlation id began earlier by at least setBackLeast,
// highest returns the difference between the start times. Otherwise it returns 0.
func (c *ids) highest(t *trace.Trace, i int) int64 {
	s := &t.Spans[i]
	for ; c.next < len(c.calls) && s.Start-t.Spans[c.calls[c.next]].Start > setBackLeast; c.next++ {
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

// noteLost adds a note about launches without a GPU op, which mean that the profiler dropped records. A trace in which
// no launch has a GPU op, such as a trace without GPU activity, gets no note.
func noteLost(t *trace.Trace) {
	done := map[int64]bool{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Corr > 0 && (s.Cat == trace.Kernel || s.Cat == trace.Memcpy || s.Cat == trace.Memset) {
			done[s.Corr] = true
		}
	}
	if len(done) == 0 {
		return
	}
	kinds := make([]trace.Call, t.Strings.Len())
	threads := make([]trace.Launching, len(t.Tracks))
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.Runtime && s.Cat != trace.Driver {
			continue
		}
		if kinds[s.Name] == 0 {
			kinds[s.Name] = trace.CallOf(t.Strings.Get(s.Name))
		}
		if kinds[s.Name] != trace.Launches || s.Corr > 0 {
			threads[s.Track].Add(kinds[s.Name], s.Corr)
		}
	}
	launches, lost := int64(0), int64(0)
	for i := range threads {
		for _, id := range threads[i].IDs {
			launches++
			if !done[id] {
				lost++
			}
		}
	}
	if lost < launches && float64(lost) > lostLeast*float64(launches) {
		t.Notes = append(t.Notes, trace.Note{Kind: trace.NoteLostOps, Source: t.Source.Path, Count: lost, Lost: launches})
	}
}

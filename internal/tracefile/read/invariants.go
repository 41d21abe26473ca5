package read

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// checkInvariants adds notes about violations to t, whose spans must be in order of time. It drops repeated GPU ops, and
// shortens a GPU op that ends too late to the start of the next op of its stream. found holds the violations that the
// order of the file showed; they are not counted again. lost is as in checkHost.
func checkInvariants(t *trace.Trace, found trace.Tally, lost bool) {
	odd := trace.Tally{}
	dropTwins(t, odd)
	last := make([]int, len(t.Tracks)) // index of the latest GPU op of each track, plus 1
	calls := make([]ids, len(t.Tracks))
	nests := make([]struct{ calls, steps trace.Nest }, len(t.Tracks))
	back, inOrder := int64(0), found[trace.Oddity{Kind: trace.NoteRunsOn}] == 0
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
				before := &t.Spans[p-1]
				branch := s.Corr > 0 && s.Corr == before.Corr && inOrder // of one graph: it completes earlier
				if before.End() > s.End()+trace.RunsOnLeast && !branch {
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
	clocks := found[setBack]+odd[setBack] > 0
	before := checkHost(t, lost, clocks)
	for _, n := range odd.Notes(t.Source.Path) {
		seen := found[trace.Oddity{Kind: n.Kind}]
		if n.Kind == trace.NoteSetBack {
			n.End = back
		}
		if n.Kind == trace.NoteRunsOn && seen == 0 && (before || clocks) {
			continue // these are in order in the file
		}
		if seen > 0 {
			n.Count = seen
			t.Notes = slices.DeleteFunc(t.Notes, func(o trace.Note) bool { return o.Kind == n.Kind })
		}
		t.Notes = append(t.Notes, n)
	}
}

var setBack = trace.Oddity{Kind: trace.NoteSetBack}

// dropTwins drops and counts the GPU ops that repeat the previous op of their track. Times in whole µs may be equal, and
// such durations 0, so it compares names too and keeps ops without a duration.
func dropTwins(t *trace.Trace, odd trace.Tally) {
	last := make([]trace.Span, len(t.Tracks))
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool {
		if !s.Cat.OnGPU() || s.Corr <= 0 || s.Dur == 0 {
			return false
		}
		was := &last[s.Track]
		if was.Corr == s.Corr && was.Start == s.Start && was.Dur == s.Dur && was.Name == s.Name {
			odd.Add(trace.NoteTwice, 1)
			return true
		}
		*was = s
		return false
	})
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
	ops     map[int64]ops // by correlation id
	kinds   []trace.Call  // by name
	threads []thread      // by track
	before  int64         // number of launches whose GPU work begins before them
}

// ops holds the indices of two GPU ops of a launch: the first to begin and the last to end.
type ops struct{ first, last int32 }

// thread is the state of one thread.
type thread struct {
	trace.Launching
	trace.Waits
}

// checkHost adds notes about GPU ops that begin before their launch or end after the synchronisation that waited for
// them, and reports whether any op begins before its launch. If lost is set, it also adds notes about launches without a
// GPU op, which mean that the profiler dropped records. If clocks is set, a clock was set back, and synchronisations are
// not checked.
func checkHost(t *trace.Trace, lost, clocks bool) (before bool) {
	h := host{t: t, ops: map[int64]ops{}, kinds: make([]trace.Call, t.Strings.Len()), threads: make([]thread, len(t.Tracks))}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Corr > 0 && s.Cat.OnGPU() {
			at, ok := h.ops[s.Corr]
			if !ok {
				at = ops{int32(i), int32(i)}
			} else if t.Spans[at.last].End() < s.End() {
				at.last = int32(i)
			}
			h.ops[s.Corr] = at
		}
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
			if _, ok := h.ops[id]; !ok {
				without++
			}
		}
	}
	add := func(kind trace.NoteKind, n, of int64) {
		if n > 0 {
			t.Notes = append(t.Notes, trace.Note{Kind: kind, Source: t.Source.Path, Count: n, Lost: of})
		}
	}
	if !clocks {
		add(trace.NoteLateOps, late, 0)
	}
	add(trace.NoteBeforeLaunch, h.before, 0)
	if lost {
		add(trace.NoteLostOps, without, launches)
	}
	return h.before > 0
}

func (h *host) call(s *trace.Span) {
	if h.kinds[s.Name] == 0 {
		h.kinds[s.Name] = trace.CallOf(h.t.Strings.Get(s.Name))
	}
	kind, th := h.kinds[s.Name], &h.threads[s.Track]
	var op *trace.LastOp
	if at, ok := h.ops[s.Corr]; ok && s.Corr > 0 {
		o := &h.t.Spans[at.last]
		if (kind == trace.Launches || kind == trace.Copies) && h.t.Spans[at.first].Start < s.Start-trace.LateLeast {
			h.before++
		}
		op = &trace.LastOp{Stream: int64(o.Track), End: o.End(), ToHost: o.Cat == trace.Memcpy && strings.Contains(h.t.Strings.Get(o.Name), "DtoH")}
	}
	th.Waits.Add(kind, s.End(), op)
	if kind != trace.Launches || s.Corr > 0 {
		th.Launching.Add(kind, s.Corr)
	}
}

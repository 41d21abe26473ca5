package prep

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// sortCalls orders calls by start and assigns each call to its step.
func (r *Rank) sortCalls() {
	if byStart := func(a, b Call) int { return cmp.Compare(a.Start, b.Start) }; !slices.IsSortedFunc(r.Calls, byStart) {
		order := make([]int32, len(r.Calls))
		for i := range order {
			order[i] = int32(i)
		}
		runsort.Stable(order, func(a, b int32) bool { return r.Calls[a].Start < r.Calls[b].Start })
		place := make([]int32, len(order))
		sorted := make([]Call, len(order))
		for i, from := range order {
			sorted[i] = r.Calls[from]
			place[from] = int32(i)
		}
		r.Calls = sorted
		for i := range r.Ops {
			if c := r.Ops[i].Call; c >= 0 {
				r.Ops[i].Call = place[c]
			}
		}
	}
	next := 0 // the first step that ends after the call starts
	for i := range r.Calls {
		c := &r.Calls[i]
		for next < len(r.Steps) && r.Steps[next].End <= c.Start {
			next++
		}
		if next < len(r.Steps) && r.Steps[next].Start <= c.Start {
			c.Step = int32(next)
		}
	}
}

// measureHost sets the host time of each launch: the time since the previous launch on the same thread, less the
// thread's waits.
func (r *Rank) measureHost() {
	lastEnd, waits := map[trace.TrackID]int64{}, r.WaitsOf(r.Main)
	for i := range r.Calls {
		c := &r.Calls[i]
		end := c.End
		if c.Blocks {
			end = c.Start
		}
		if from, ok := lastEnd[c.Track]; ok && !r.Apart(from, c.Start) {
			waited := r.Blocked[c.Track]
			if c.Track == r.Main {
				waited = waits
			}
			c.Host = max(0, end-from-Overlap(waited, from, end)-Overlap(r.Full, from, end))
		}
		lastEnd[c.Track] = max(lastEnd[c.Track], c.End)
	}
}

// syncs lists API calls that wait for the device although their names do not contain Synchronize: copies that return
// when the copy is done, and calls that free or pin memory. PyTorch for ROCm calls hipMemcpyWithStream where PyTorch
// for CUDA calls a copy and then synchronises the stream.
var syncs = map[string]bool{
	"cudaMemcpy": true, "hipMemcpy": true, "hipMemcpyWithStream": true, "hipMemcpyDtoH": true, "hipMemcpyHtoD": true,
	"cudaFree": true, "hipFree": true, "cudaHostAlloc": true, "hipHostMalloc": true,
}

// isSync reports whether an API call waits for the device.
func isSync(name string) bool { return strings.Contains(name, "Synchronize") || syncs[name] }

// blockedSpans returns, per thread and in time order, the waits for the device. A runtime call and the driver call
// inside it are one wait.
func blockedSpans(t *trace.Trace) map[trace.TrackID][]Interval {
	blocked := map[trace.TrackID][]Interval{}
	const unknown, other, sync = 0, 1, 2
	kind := make([]uint8, t.Strings.Len())
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() {
			continue
		}
		if kind[s.Name] == unknown {
			kind[s.Name] = other
			if isSync(t.Strings.Get(s.Name)) {
				kind[s.Name] = sync
			}
		}
		if kind[s.Name] == sync {
			list := blocked[s.Track]
			if n := len(list); n > 0 && s.Start <= list[n-1].End {
				list[n-1].End = max(list[n-1].End, s.End())
				continue
			}
			blocked[s.Track] = append(list, Interval{s.Start, s.End()})
		}
	}
	return blocked
}

// capturedSpans returns, per thread and in time order, the intervals of graph capture. Launches in these intervals are
// added to the graph and run nothing.
func capturedSpans(t *trace.Trace) map[trace.TrackID][]Interval {
	const other, begin, end = 0, 1, 2
	kind, any := make([]uint8, t.Strings.Len()), false
	for id := range kind {
		switch name := t.Strings.Get(trace.StringID(id)); {
		case strings.HasSuffix(name, "StreamBeginCapture"): // prefixed by hip, cuda or cu (cu also has a suffix)
			kind[id], any = begin, true
		case strings.HasSuffix(name, "StreamEndCapture"):
			kind[id], any = end, true
		}
	}
	if !any {
		return nil
	}
	var calls []*trace.Span
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.Launch() && kind[s.Name] != other {
			calls = append(calls, s)
		}
	}
	sorts.By(calls, func(a, b *trace.Span) int { return cmp.Compare(a.Start, b.Start) })
	captured, from, seen := map[trace.TrackID][]Interval{}, map[trace.TrackID]int64{}, map[trace.TrackID]bool{}
	for _, s := range calls {
		at, open := from[s.Track]
		if kind[s.Name] == end && !seen[s.Track] { // the capture began before the window
			at, open = math.MinInt64, true
		}
		seen[s.Track] = true
		switch {
		case kind[s.Name] == begin && !open:
			from[s.Track] = s.Start
		case kind[s.Name] == end && open:
			captured[s.Track] = append(captured[s.Track], Interval{at, s.End()})
			delete(from, s.Track)
		}
	}
	for track, at := range from { // captures that continue beyond the end of the window
		captured[track] = append(captured[track], Interval{at, math.MaxInt64})
	}
	return captured
}

// eventCalls returns the times of the calls that record an event on a stream, and the times at which calls began to
// wait for an event.
func eventCalls(t *trace.Trace) (records, awaits []int64) {
	const unknown, other, record, await = 0, 1, 2, 3
	kind := make([]uint8, t.Strings.Len())
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() {
			continue
		}
		if kind[s.Name] == unknown {
			kind[s.Name] = other
			switch name := t.Strings.Get(s.Name); {
			case strings.Contains(name, "EventRecord"):
				kind[s.Name] = record
			case strings.Contains(name, "EventSynchronize"):
				kind[s.Name] = await
			}
		}
		switch kind[s.Name] {
		case record:
			records = append(records, s.Start)
		case await:
			awaits = append(awaits, s.Start)
		}
	}
	slices.Sort(records)
	slices.Sort(awaits)
	return records, awaits
}

package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// sortCalls orders calls by start and gives each its step.
func (r *rank) sortCalls() {
	order := make([]int32, len(r.calls))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.calls[a].start, r.calls[b].start), cmp.Compare(a, b))
	})
	place := make([]int32, len(order))
	sorted := make([]call, len(order))
	for i, from := range order {
		sorted[i] = r.calls[from]
		sorted[i].step = r.stepAt(sorted[i].start)
		place[from] = int32(i)
	}
	r.calls = sorted
	for i := range r.ops {
		if c := r.ops[i].call; c >= 0 {
			r.ops[i].call = place[c]
		}
	}
}

// measureHost fills in what the host needed for each launch: the time since
// the launch before on the same thread, without the time it was blocked.
func (r *rank) measureHost() {
	lastEnd := map[trace.TrackID]int64{}
	for i := range r.calls {
		c := &r.calls[i]
		end := c.end
		if c.blocks {
			end = c.start
		}
		if from, ok := lastEnd[c.track]; ok {
			c.host = max(0, end-from-overlap(r.blocked[c.track], from, end))
		}
		lastEnd[c.track] = max(lastEnd[c.track], c.end)
	}
}

// isSync tells API calls that wait for the device.
func isSync(name string) bool {
	return strings.Contains(name, "Synchronize") || name == "cudaMemcpy" || name == "hipMemcpy" || name == "cudaFree" || name == "cudaHostAlloc"
}

// blockedSpans lists, per thread and in time order, when it waited for the
// device. A runtime call and the driver call inside it are one wait.
func blockedSpans(t *trace.Trace) map[trace.TrackID][]interval {
	blocked := map[trace.TrackID][]interval{}
	sync := map[trace.StringID]bool{}
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() {
			continue
		}
		is, known := sync[s.Name]
		if !known {
			is = isSync(t.Strings.Get(s.Name))
			sync[s.Name] = is
		}
		if is {
			list := blocked[s.Track]
			if n := len(list); n > 0 && s.Start <= list[n-1].end {
				list[n-1].end = max(list[n-1].end, s.End())
				continue
			}
			blocked[s.Track] = append(list, interval{s.Start, s.End()})
		}
	}
	return blocked
}

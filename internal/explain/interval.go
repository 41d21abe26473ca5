package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// interval is [start, end) in ns.
type interval struct{ start, end int64 }

// overlap is how much of [from, to) the intervals cover. They are in order
// and do not overlap each other.
func overlap(in []interval, from, to int64) int64 {
	i, _ := slices.BinarySearchFunc(in, from, func(x interval, at int64) int { return cmp.Compare(x.end, at) })
	var sum int64
	for ; i < len(in) && in[i].start < to; i++ {
		sum += max(0, min(in[i].end, to)-max(in[i].start, from))
	}
	return sum
}

// union joins intervals, ordered by start, that touch or overlap.
func union(in []interval) []interval {
	out := in[:0]
	for _, x := range in {
		if n := len(out); n > 0 && x.start <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, x.end)
			continue
		}
		out = append(out, x)
	}
	return out
}

// intervals lists the spans of a category, such as the profiler's own stalls,
// in time order.
func intervals(t *trace.Trace, cat trace.Category) []interval {
	var out []interval
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == cat {
			out = append(out, interval{s.Start, s.End()})
		}
	}
	slices.SortFunc(out, func(x, y interval) int { return cmp.Compare(x.start, y.start) })
	return union(out)
}

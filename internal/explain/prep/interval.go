package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Interval is the time [Start, End), in ns.
type Interval struct{ Start, End int64 }

// extentOf returns the interval from the first to the last event of a trace.
func extentOf(t *trace.Trace) (x Interval) {
	for i := range t.Spans {
		s := &t.Spans[i]
		if i == 0 {
			x = Interval{s.Start, s.End()}
		}
		x.Start, x.End = min(x.Start, s.Start), max(x.End, s.End())
	}
	return x
}

// Overlap returns how much of [from, to) the intervals cover. The intervals must be in order and disjoint.
func Overlap(in []Interval, from, to int64) int64 {
	i, _ := slices.BinarySearchFunc(in, from, func(x Interval, at int64) int { return cmp.Compare(x.End, at) })
	var sum int64
	for ; i < len(in) && in[i].Start < to; i++ {
		sum += max(0, min(in[i].End, to)-max(in[i].Start, from))
	}
	return sum
}

// Union joins intervals that touch or overlap. The intervals must be ordered by start.
func Union(in []Interval) []Interval {
	out := in[:0]
	for _, x := range in {
		if n := len(out); n > 0 && x.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
			continue
		}
		out = append(out, x)
	}
	return out
}

// intervals returns, in time order, the intervals in which at least one of the wanted spans ran.
func intervals(t *trace.Trace, want func(s *trace.Span) bool) []Interval {
	var out []Interval
	for i := range t.Spans {
		if s := &t.Spans[i]; want(s) {
			out = append(out, Interval{s.Start, s.End()})
		}
	}
	sorts.By(out, func(x, y Interval) int { return cmp.Compare(x.Start, y.Start) })
	return Union(out)
}

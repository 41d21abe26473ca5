package retime

import (
	"slices"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Lengthen returns a capture with at least n steps, in which the steps between the first and the last step repeat.
// Spans around several steps last longer. Annotations of devices and memory records are dropped.
func Lengthen(ts []*trace.Trace, n int) []*trace.Trace {
	out := clone(ts)
	from, to := make([]int64, len(ts)), make([]int64, len(ts))
	times, period := 0, int64(0)
	for i, t := range out {
		steps := prep.Trace(t, nil).Steps
		last := len(steps) - 1
		if last < 2 {
			return out
		}
		from[i], to[i] = steps[1].Start, steps[last].Start
		times = max(times, (n-len(steps)+last-2)/(last-1))
		period = max(period, to[i]-from[i])
	}
	for i, t := range out {
		lengthen(t, from[i], to[i], period, times)
	}
	return out
}

// lengthen inserts copies of the time from from to to after that time, one every period.
func lengthen(t *trace.Trace, from, to, period int64, times int) {
	t.Memory = nil
	launched, corrs := map[int64]int64{}, int64(0)
	for i := range t.Spans {
		s := &t.Spans[i]
		if corrs = max(corrs, s.Corr, s.Ext); s.Cat.Launch() {
			launched[s.Corr] = s.Start
		}
	}
	for i := range t.Comms {
		t.Comms[i].Seq = -1
	}
	more := int64(times) * period
	var copies []trace.Span
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.GPUAnnotation })
	for i := range t.Spans {
		s := &t.Spans[i]
		at := s.Start
		if call, ok := launched[s.Corr]; ok && t.Tracks[s.Track].GPU {
			at = call
		}
		switch {
		case at >= to:
			s.Start += more
		case at >= from:
			for k := range int64(times) {
				c := *s
				c.Start += (k + 1) * period
				if c.Corr != 0 {
					c.Corr += (k + 1) * corrs
				}
				if c.Ext != 0 {
					c.Ext += (k + 1) * corrs
				}
				if c.Cat.OnGPU() {
					t.Ops = append(t.Ops, t.Ops[c.Detail])
					c.Detail = int32(len(t.Ops) - 1)
				}
				copies = append(copies, c)
			}
		case s.End() >= to:
			s.Dur += more
		}
	}
	t.Spans = append(t.Spans, copies...)
	sortSpans(t)
}

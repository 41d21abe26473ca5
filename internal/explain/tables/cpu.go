package tables

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// keptOps is the number of CPU ops and Python frames listed in a report.
const keptOps = 50

// CPU sums up the activity of the host: ops and Python frames by self time, and launches.
func CPU(a *match.Aligned) result.CPU {
	ops, frames := map[string]*result.CPUOp{}, map[string]*result.CPUOp{}
	var l result.Launch
	var calls, delays []int64
	for _, r := range a.Ranks {
		addUp(ops, r.Host.Ops, a.Marks)
		addUp(frames, r.Host.Frames, a.Marks)
		l.Unlaunched += r.Unlaunched
		l.EmptyGraphs += r.Empty
		for i := range r.Calls {
			c := &r.Calls[i]
			l.Calls++
			if l.Total += c.End - c.Start; c.End > c.Start { // a call of unknown length has length 0
				calls = append(calls, c.End-c.Start)
			}
			if c.Graph {
				l.GraphCalls++
				l.GraphOps += int(c.Ops)
			}
		}
		for i := range r.Ops {
			o := &r.Ops[i]
			if o.Call < 0 || !o.First {
				continue
			}
			c := &r.Calls[o.Call]
			if c.End > c.Start {
				delays = append(delays, o.Start-c.End)
			}
			if took := c.End - c.Start; c.Ops == 1 && o.End-o.Start < took && !c.Blocks {
				l.Shorter++
				l.ShorterTime += took
			}
		}
	}
	if len(calls) > 0 && len(delays) > 0 {
		l.Median, l.Delay = int64(metric.MedianInPlace(calls)), int64(metric.MedianInPlace(delays))
	}
	return result.CPU{Ops: topOps(ops), Frames: topOps(frames), Launch: l}
}

// addUp adds self times to the entries of the same name.
func addUp(into map[string]*result.CPUOp, times []prep.SelfTime, marks *prep.Markers) {
	for i := range times {
		x := &times[i]
		name := marks.SpanName(x.Name, true)
		o := at(into, name)
		o.Name = name
		o.Count += x.Count
		o.Total += x.Total
		o.Self += x.Self
	}
}

// HostOps returns the self time of CPU ops by name and step for a capture without GPU work, and nil for other captures.
func HostOps(a *match.Aligned) map[string][]int64 {
	if !a.HostOnly {
		return nil
	}
	out := map[string][]int64{}
	for _, r := range a.Ranks {
		for i := range r.Host.Steps {
			x := &r.Host.Steps[i]
			step := r.StepAt(x.At)
			if step < 0 {
				continue
			}
			name := a.Marks.SpanName(x.Name, true)
			if out[name] == nil {
				out[name] = make([]int64, a.Steps)
			}
			out[name][int(step)+r.First] += x.Self
		}
	}
	return out
}

func topOps(by map[string]*result.CPUOp) []result.CPUOp {
	out := make([]result.CPUOp, 0, len(by))
	var sum int64
	for _, o := range by {
		out = append(out, *o)
		sum += o.Self
	}
	sorts.By(out, func(x, y result.CPUOp) int { return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(x.Name, y.Name)) })
	out = out[:min(len(out), keptOps)]
	for i := range out {
		out[i].Share = metric.Share(out[i].Self, sum)
	}
	return out
}

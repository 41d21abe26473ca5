package tables

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

var objectAddress = regexp.MustCompile(` at 0x[0-9a-fA-F]+`)

// keptOps is how many CPU ops and Python frames a report lists.
const keptOps = 50

// CPU is the host side: ops and frames by self time, and launches.
func CPU(a *match.Aligned) result.CPU {
	ops, frames := map[string]*result.CPUOp{}, map[string]*result.CPUOp{}
	var l result.Launch
	var calls, delays []int64
	for _, r := range a.Ranks {
		selfTimes(r.Host, ops, func(c trace.Category) bool {
			return c == trace.CPUOp || c == trace.UserAnnotation || c.Launch()
		})
		if r.Source.WithStack {
			selfTimes(r.Host, frames, func(c trace.Category) bool { return c == trace.PythonFunction })
		}
		l.Unlaunched += r.Unlaunched
		l.EmptyGraphs += r.Empty
		for i := range r.Calls {
			c := &r.Calls[i]
			l.Calls++
			l.Total += c.End - c.Start
			calls = append(calls, c.End-c.Start)
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
			delays = append(delays, o.Start-c.End)
			if took := c.End - c.Start; c.Ops == 1 && o.End-o.Start < took && !c.Blocks {
				l.Shorter++
				l.ShorterTime += took
			}
		}
	}
	if len(calls) > 0 {
		l.Median, l.Delay = int64(metric.MedianInPlace(calls)), int64(metric.MedianInPlace(delays))
	}
	return result.CPU{Ops: topOps(ops), Frames: topOps(frames), Launch: l}
}

// selfTimes adds up the spans of the wanted categories by name.
func selfTimes(h *prep.Host, into map[string]*result.CPUOp, want func(trace.Category) bool) {
	byID := make([]*result.CPUOp, h.Names())
	h.Nest(want, func(s, parent *trace.Span, dur int64) {
		o := byID[s.Name]
		if o == nil {
			// Python names builtins with the address of their object.
			name := objectAddress.ReplaceAllString(h.SpanName(s.Name, true), "")
			o = at(into, name)
			o.Name, byID[s.Name] = name, o
		}
		o.Count++
		o.Total += s.Dur
		o.Self += dur
		if parent != nil {
			byID[parent.Name].Self -= dur
		}
	})
}

// HostOps gives the self time of CPU ops by name and step, of a capture that has no GPU
// work to tell steps by; nil else.
func HostOps(a *match.Aligned) map[string][]int64 {
	if !a.HostOnly {
		return nil
	}
	out := map[string][]int64{}
	for _, r := range a.Ranks {
		add := func(s *trace.Span, ns int64) {
			step := r.StepAt(s.Start)
			if step < 0 || s.Track != r.Steps[step].Track {
				return
			}
			name := r.Host.SpanName(s.Name, true)
			if out[name] == nil {
				out[name] = make([]int64, a.Steps)
			}
			out[name][int(step)+r.First] += ns
		}
		r.Host.Nest(func(c trace.Category) bool { return c == trace.CPUOp || c == trace.UserAnnotation }, func(s, parent *trace.Span, dur int64) {
			add(s, dur)
			if parent != nil {
				add(parent, -dur)
			}
		})
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
	slices.SortFunc(out, func(x, y result.CPUOp) int { return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(x.Name, y.Name)) })
	out = out[:min(len(out), keptOps)]
	for i := range out {
		out[i].Share = metric.Share(out[i].Self, sum)
	}
	return out
}

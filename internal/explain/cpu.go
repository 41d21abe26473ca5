package explain

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

var objectAddress = regexp.MustCompile(` at 0x[0-9a-fA-F]+`)

// keptOps is how many CPU ops and Python frames a report lists.
const keptOps = 50

// cpuTable is the host side: ops and frames by self time, and launches.
func cpuTable(a *aligned) CPU {
	ops, frames := map[string]*CPUOp{}, map[string]*CPUOp{}
	var l Launch
	var calls, delays []int64
	for _, r := range a.ranks {
		selfTimes(r.host, ops, func(c trace.Category) bool {
			return c == trace.CPUOp || c == trace.UserAnnotation || c.Launch()
		})
		if r.source.WithStack {
			selfTimes(r.host, frames, func(c trace.Category) bool { return c == trace.PythonFunction })
		}
		l.Unlaunched += r.unlaunched
		l.EmptyGraphs += r.empty
		for i := range r.calls {
			c := &r.calls[i]
			l.Calls++
			l.Total += c.end - c.start
			calls = append(calls, c.end-c.start)
			if c.graph {
				l.GraphCalls++
				l.GraphOps += int(c.ops)
			}
		}
		for i := range r.ops {
			o := &r.ops[i]
			if o.call < 0 || !o.first {
				continue
			}
			c := &r.calls[o.call]
			delays = append(delays, o.start-c.end)
			if took := c.end - c.start; c.ops == 1 && o.end-o.start < took && !c.blocks {
				l.Shorter++
				l.ShorterTime += took
			}
		}
	}
	if len(calls) > 0 {
		l.Median, l.Delay = int64(metric.MedianInPlace(calls)), int64(metric.MedianInPlace(delays))
	}
	return CPU{Ops: topOps(ops), Frames: topOps(frames), Launch: l}
}

// selfTimes adds up the spans of the wanted categories by name.
func selfTimes(h *host, into map[string]*CPUOp, want func(trace.Category) bool) {
	byID := make([]*CPUOp, h.names())
	h.nest(want, func(s, parent *trace.Span, dur int64) {
		o := byID[s.Name]
		if o == nil {
			// Python names builtins with the address of their object.
			name := objectAddress.ReplaceAllString(h.spanName(s.Name, true), "")
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

// hostOpsOf gives the self time of CPU ops by name and step, of a capture that has no GPU
// work to tell steps by; nil else.
func hostOpsOf(a *aligned) map[string][]int64 {
	if !a.hostOnly {
		return nil
	}
	out := map[string][]int64{}
	for _, r := range a.ranks {
		add := func(s *trace.Span, ns int64) {
			step := r.stepAt(s.Start)
			if step < 0 || s.Track != r.steps[step].track {
				return
			}
			name := r.host.spanName(s.Name, true)
			if out[name] == nil {
				out[name] = make([]int64, a.steps)
			}
			out[name][int(step)+r.first] += ns
		}
		r.host.nest(func(c trace.Category) bool { return c == trace.CPUOp || c == trace.UserAnnotation }, func(s, parent *trace.Span, dur int64) {
			add(s, dur)
			if parent != nil {
				add(parent, -dur)
			}
		})
	}
	return out
}

func topOps(by map[string]*CPUOp) []CPUOp {
	out := make([]CPUOp, 0, len(by))
	var sum int64
	for _, o := range by {
		out = append(out, *o)
		sum += o.Self
	}
	slices.SortFunc(out, func(x, y CPUOp) int { return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(x.Name, y.Name)) })
	out = out[:min(len(out), keptOps)]
	for i := range out {
		out[i].Share = metric.Share(out[i].Self, sum)
	}
	return out
}

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

// cpu fills the host side: ops and frames by self time, and launches.
func (a *analyzer) cpu() {
	ops, frames := map[string]*CPUOp{}, map[string]*CPUOp{}
	l := &a.report.CPU.Launch
	var calls, delays []int64
	for _, r := range a.ranks {
		r.selfTimes(ops, func(c trace.Category) bool {
			return c == trace.CPUOp || c == trace.UserAnnotation || c.Launch()
		})
		if r.t.Source.WithStack {
			r.selfTimes(frames, func(c trace.Category) bool { return c == trace.PythonFunction })
		}
		l.Unlaunched += r.unlaunched
		l.EmptyGraphs += r.empty
		for i := range r.calls {
			c := &r.calls[i]
			l.Calls++
			l.Total += c.end - c.start
			calls = append(calls, c.end-c.start)
			if trace.IsGraphLaunch(r.t.Strings.Get(r.t.Spans[c.span].Name)) {
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
			if took := c.end - c.start; c.ops == 1 && o.end-o.start < took && !r.blocksInLaunch(c) {
				l.Shorter++
				l.ShorterTime += took
			}
		}
	}
	if len(calls) > 0 {
		l.Median, l.Delay = int64(metric.MedianInPlace(calls)), int64(metric.MedianInPlace(delays))
	}
	a.report.CPU.Ops, a.report.CPU.Frames = topOps(ops), topOps(frames)
}

// selfTimes adds up the spans of the wanted categories by name.
func (r *rank) selfTimes(into map[string]*CPUOp, want func(trace.Category) bool) {
	t := r.t
	byID := make([]*CPUOp, t.Strings.Len())
	of := func(s *trace.Span) *CPUOp {
		o := byID[s.Name]
		if o == nil {
			// Python names builtins with the address of their object.
			name := objectAddress.ReplaceAllString(r.spanName(s.Name, true), "")
			if o = into[name]; o == nil {
				o = &CPUOp{Name: name}
				into[name] = o
			}
			byID[s.Name] = o
		}
		return o
	}
	r.nest(want, func(s, parent *trace.Span, dur int64) {
		o := of(s)
		o.Count++
		o.Total += s.Dur
		o.Self += dur
		if parent != nil {
			byID[parent.Name].Self -= dur
		}
	})
}

// nest visits the spans of the wanted categories with the one around each, nil
// for none, by containment per thread. dur is the length: of children that stick
// out of their parent by a few ns what lies inside.
func (r *rank) nest(want func(trace.Category) bool, visit func(s, parent *trace.Span, dur int64)) {
	type open struct {
		span *trace.Span
		end  int64
	}
	var stack []open
	for i := range r.t.Spans {
		s := &r.t.Spans[i]
		if !want(s.Cat) {
			continue
		}
		for len(stack) > 0 {
			if top := stack[len(stack)-1]; top.span.Track == s.Track && s.Start < top.end {
				break
			}
			stack = stack[:len(stack)-1]
		}
		dur, parent := s.Dur, (*trace.Span)(nil)
		if len(stack) > 0 {
			top := stack[len(stack)-1]
			parent, dur = top.span, min(dur, top.end-s.Start)
		}
		visit(s, parent, dur)
		stack = append(stack, open{s, s.Start + dur})
	}
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
		out[i].Share = share(out[i].Self, sum)
	}
	return out
}

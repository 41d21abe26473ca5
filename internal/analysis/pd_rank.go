package analysis

import (
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// pdServer is a server prepared for this analysis.
type pdServer struct {
	name  string
	ranks []*pdRank
}

// pdRank is one rank's trace.
type pdRank struct {
	*rank
	lead     bool  // of its data-parallel rank: the others run the same steps
	from, to int64 // ns on its own clock: what was recorded
	done     []int64
}

func prepareServers(in []Server, n *names) (out []*pdServer) {
	for _, s := range in {
		ps := &pdServer{name: s.Name}
		for i, t := range s.Traces {
			r := &pdRank{rank: prepare(i, t, n)}
			if r.rule == trace.Uncut {
				r.noSteps()
			}
			if len(r.steps) == 0 && r.rule != trace.Uncut {
				continue // a file that ends in its first step
			}
			r.measure()
			ps.ranks = append(ps.ranks, r)
		}
		out = append(out, ps)
	}
	return out
}

// noSteps undoes what makes one step of all there is.
func (r *pdRank) noSteps() {
	r.steps = nil
	for i := range r.ops {
		r.ops[i].step = -1
	}
}

// dropUncut leaves out ranks without steps of which it is not known that they had
// none to do: they had none if the file says for how long it was recorded, and those of
// other servers name their steps.
func dropUncut(servers []*pdServer) {
	named := false
	for _, ps := range servers {
		named = named || slices.ContainsFunc(ps.ranks, func(r *pdRank) bool { return r.rule == trace.ByAnnotations })
	}
	for _, ps := range servers {
		ps.ranks = slices.DeleteFunc(ps.ranks, func(r *pdRank) bool {
			return r.rule == trace.Uncut && (!named || r.to <= r.from)
		})
		leads := map[int]trace.Rank{}
		for _, r := range ps.ranks {
			at := r.t.Source.Rank
			first, seen := leads[at.DP]
			if r.lead = !seen || first == at; !seen {
				leads[at.DP] = at // by stage, a rank has several files
			}
		}
	}
}

// measure finds when each step's work was done on the device, and the window: what the
// file says was recorded. A server that has little to do is idle for most of it, which
// its steps alone would not show.
func (r *pdRank) measure() {
	r.done = make([]int64, len(r.steps))
	for i := range r.steps {
		r.done[i] = r.steps[i].end
	}
	for i := range r.ops {
		if o := &r.ops[i]; o.step >= 0 && o.call >= 0 {
			r.done[o.step] = max(r.done[o.step], o.end)
		}
	}
	if len(r.steps) > 0 {
		r.from, r.to = r.steps[0].start, slices.Max(r.done)
	}
	if !r.t.Source.Complete {
		return // the steps that it lacks are no idle time
	}
	for i := range r.t.Spans {
		s := &r.t.Spans[i]
		switch {
		case s.Cat != trace.Window:
		case len(r.steps) == 0:
			r.from, r.to = s.Start, s.End()
			return
		default:
			r.from, r.to = min(r.from, s.Start), max(r.to, s.End())
			return
		}
	}
}

// shares are the parts of a rank's window in forward steps, in which kernels ran, and
// in which a software device had no core.
func (r *pdRank) shares() (stepping, busy, noCore float64) {
	var steps, kernels []interval
	for i := range r.steps {
		if r.steps[i].info.Kind != trace.IdleStep {
			steps = append(steps, interval{r.steps[i].start, r.done[i]})
		}
	}
	for i := range r.ops {
		if o := &r.ops[i]; r.t.Spans[o.span].Cat == trace.Kernel {
			kernels = append(kernels, interval{o.start, o.end})
		}
	}
	length := r.to - r.from
	part := func(list []interval) float64 { return share(overlap(union(list), r.from, r.to), length) }
	return part(steps), part(kernels), part(r.noCore)
}

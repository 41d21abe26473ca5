package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Server is what one server of a side did, as PrefillDecode wants it.
type Server struct {
	name  string
	loads []trace.Load
	ranks []*pdRank
}

// pdRank is what one rank's file has for this analysis.
type pdRank struct {
	at       trace.Rank
	host     string
	rule     string // how steps were cut
	lead     bool   // of its data-parallel rank: the others run the same steps
	from, to int64  // ns on its own clock: what was recorded
	steps    []trace.Step
	periods  []int64 // of steps but the last
	// Parts of the window in forward steps, in which kernels ran, in which a software
	// device had no core, in which keys and values were sent.
	stepping, busy, noCore, sending float64
	copies                          []copied         // of keys and values
	kernels                         map[string]int64 // by request: its last kernel ended
	begins                          map[string]int64 // by request: its first step began
}

// copied is a copy of keys and values.
type copied struct {
	prep.Interval
	name  string // kv_send layer=3
	of    request
	bytes int64
}

// request is what a trace says of the request that a copy is of.
type request struct {
	room int64
	ids  string // as trace.Pass has it
}

// NewServer takes from the ranks of a window what there is to say of one of a side's servers.
func NewServer(name string, loads []trace.Load, ranks []*prep.Rank, n *prep.Names) *Server {
	s := &Server{name: name, loads: loads}
	for _, r := range ranks {
		steps := r.Steps
		if r.Rule == trace.Uncut {
			steps = nil // that all is one step says nothing
		} else if len(steps) == 0 {
			continue // a file that ends in its first step
		}
		s.ranks = append(s.ranks, sideRank(r, n, steps))
	}
	return s
}

// sideRank measures a rank that made some steps.
func sideRank(r *prep.Rank, n *prep.Names, steps []prep.Step) *pdRank {
	p := &pdRank{at: r.Source.Rank, host: r.Source.Host, rule: r.Rule, kernels: map[string]int64{}, begins: map[string]int64{}}
	// When each step's work was done on the device, and its last kernel.
	done, kernel := make([]int64, len(steps)), make([]int64, len(steps))
	for i := range steps {
		done[i] = steps[i].End
	}
	var kernels, sends []prep.Interval
	for i := range r.Ops {
		o := &r.Ops[i]
		ran := prep.Interval{Start: o.Start, End: o.End}
		in := int(o.Step)
		if in >= len(steps) {
			in = -1
		}
		if in >= 0 && o.Call >= 0 {
			done[in] = max(done[in], o.End)
		}
		switch {
		case o.Cat == trace.Kernel:
			kernels = append(kernels, ran)
			if in >= 0 {
				kernel[in] = max(kernel[in], o.End)
			}
		case o.Cat == trace.Memcpy && strings.HasPrefix(n.List[o.Name], "kv_send "):
			sends = append(sends, ran)
		}
	}
	for _, m := range r.Moves {
		o := &r.Ops[m.Op]
		p.copies = append(p.copies, copied{prep.Interval{Start: o.Start, End: o.End}, n.List[o.Name], request{m.Room, m.Requests}, o.Bytes})
	}
	p.from, p.to = recordedIn(r, steps, done)
	var ran []prep.Interval
	for i := range steps {
		st := &steps[i]
		p.steps = append(p.steps, st.Info)
		if i+1 < len(steps) {
			p.periods = append(p.periods, r.Period(i))
		}
		if st.Info.Kind != trace.IdleStep {
			ran = append(ran, prep.Interval{Start: st.Start, End: done[i]})
		}
		for _, id := range trace.RequestIDs(st.Requests) {
			p.kernels[id] = max(p.kernels[id], kernel[i])
			if at, ok := p.begins[id]; !ok || st.Start < at {
				p.begins[id] = st.Start
			}
		}
	}
	part := func(list []prep.Interval) float64 {
		return metric.Share(prep.Overlap(prep.Union(list), p.from, p.to), p.to-p.from)
	}
	p.stepping, p.busy, p.noCore, p.sending = part(ran), part(kernels), part(r.NoCore), part(sends)
	return p
}

// recordedIn is what a file says was recorded; of one that does not, or that ends early,
// the time of its steps. A server that has little to do is idle for most of the window,
// which its steps alone would not show.
func recordedIn(r *prep.Rank, steps []prep.Step, done []int64) (from, to int64) {
	switch said := r.Recorded; {
	case len(steps) == 0:
		return said.Start, said.End
	case said == prep.Interval{}: // the steps that it lacks are no idle time
		return steps[0].Start, slices.Max(done)
	default:
		return min(steps[0].Start, said.Start), max(slices.Max(done), said.End)
	}
}

// Usable leaves out ranks without steps of which it is not known that they had none to
// do: they had none if the file says for how long it was recorded, and those of other
// servers name their steps.
func Usable(sides ...[]*Server) (out [][]*Server) {
	named := false
	for _, s := range slices.Concat(sides...) {
		named = named || slices.ContainsFunc(s.ranks, func(r *pdRank) bool { return r.rule == trace.ByAnnotations })
	}
	for _, side := range sides {
		var kept []*Server
		for _, s := range side {
			k := &Server{name: s.name, loads: s.loads}
			leads := map[int]trace.Rank{}
			for _, r := range s.ranks {
				if r.rule == trace.Uncut && (!named || r.to <= r.from) {
					continue
				}
				first, seen := leads[r.at.DP]
				if r.lead = !seen || first == r.at; !seen {
					leads[r.at.DP] = r.at // by stage, a rank has several files
				}
				k.ranks = append(k.ranks, r)
			}
			kept = append(kept, k)
		}
		out = append(out, kept)
	}
	return out
}

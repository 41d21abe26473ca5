package explain

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// Server is what one server of a side did, see [Window.Server].
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
	interval
	name  string // kv_send layer=3, or of the layer alone
	of    request
	bytes int64
}

// request is what a trace says of the request that a copy is of.
type request struct {
	room int64
	ids  string // as trace.Pass has it
}

// Server takes from a window what PrefillDecode wants of one of a side's servers; the
// traces are not kept. loads is what the server said of its queues meanwhile; none: not
// known. It comes before Analyze.
func (w *Window) Server(name string, loads []trace.Load) *Server {
	s := &Server{name: name, loads: loads}
	for _, r := range w.ranks {
		steps := r.steps
		if r.rule == trace.Uncut {
			steps = nil // that all is one step says nothing
		} else if len(steps) == 0 {
			continue // a file that ends in its first step
		}
		s.ranks = append(s.ranks, r.side(steps))
	}
	return s
}

// side measures a rank that made some steps.
func (r *rank) side(steps []step) *pdRank {
	p := &pdRank{at: r.t.Source.Rank, host: r.t.Source.Host, rule: r.rule, kernels: map[string]int64{}, begins: map[string]int64{}}
	// When each step's work was done on the device, and its last kernel.
	done, kernel := make([]int64, len(steps)), make([]int64, len(steps))
	for i := range steps {
		done[i] = steps[i].end
	}
	var kernels, sends []interval
	for i := range r.ops {
		o := &r.ops[i]
		s := &r.t.Spans[o.span]
		ran := interval{o.start, o.end}
		in := int(o.step)
		if in >= len(steps) {
			in = -1
		}
		if in >= 0 && o.call >= 0 {
			done[in] = max(done[in], o.end)
		}
		switch s.Cat {
		case trace.Kernel:
			kernels = append(kernels, ran)
			if in >= 0 {
				kernel[in] = max(kernel[in], o.end)
			}
		case trace.Memcpy:
			name := r.t.Strings.Get(s.Name)
			if strings.HasPrefix(name, "kv_send ") {
				sends = append(sends, ran)
			}
			if at := r.t.Ops[s.Detail].Move; at != 0 {
				m := &r.t.Moves[at-1]
				p.copies = append(p.copies, copied{ran, name, request{m.Room, r.t.Strings.Get(m.Requests)}, r.t.Ops[s.Detail].Bytes})
			}
		}
	}
	p.from, p.to = r.window(steps, done)
	var ran []interval
	for i := range steps {
		st := &steps[i]
		p.steps = append(p.steps, st.info)
		if i+1 < len(steps) {
			p.periods = append(p.periods, r.period(i))
		}
		if st.info.Kind != trace.IdleStep {
			ran = append(ran, interval{st.start, done[i]})
		}
		for _, id := range trace.RequestIDs(r.t.Strings.Get(st.requests)) {
			p.kernels[id] = max(p.kernels[id], kernel[i])
			if at, ok := p.begins[id]; !ok || st.start < at {
				p.begins[id] = st.start
			}
		}
	}
	part := func(list []interval) float64 { return share(overlap(union(list), p.from, p.to), p.to-p.from) }
	p.stepping, p.busy, p.noCore, p.sending = part(ran), part(kernels), part(r.noCore), part(sends)
	return p
}

// window is what a file says was recorded; of one that does not, or that ends early,
// the time of its steps. A server that has little to do is idle for most of the window,
// which its steps alone would not show.
func (r *rank) window(steps []step, done []int64) (from, to int64) {
	if len(steps) > 0 {
		from, to = steps[0].start, slices.Max(done)
	}
	s := r.recorded()
	switch {
	case s == nil:
		return from, to // the steps that it lacks are no idle time
	case len(steps) == 0:
		return s.Start, s.End()
	}
	return min(from, s.Start), max(to, s.End())
}

// recorded is the span in which a whole file says that it was recorded; nil: it does not.
func (r *rank) recorded() *trace.Span {
	i := slices.IndexFunc(r.t.Spans, func(s trace.Span) bool { return s.Cat == trace.Window })
	if i < 0 || !r.t.Source.Complete {
		return nil
	}
	return &r.t.Spans[i]
}

// usable leaves out ranks without steps of which it is not known that they had none to
// do: they had none if the file says for how long it was recorded, and those of other
// servers name their steps.
func usable(sides ...[]*Server) (out [][]*Server) {
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

package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Server holds the data of one prefill or decode server, for PrefillDecode.
type Server struct {
	name  string
	loads []trace.Load
	ranks []*pdRank
}

// pdRank holds the data of one rank's file for the analysis of prefill and decode servers.
type pdRank struct {
	at       trace.Rank
	host     string
	rule     string // rule by which the trace was cut into steps
	lead     bool   // the leading rank of its data-parallel rank; the other ranks run the same steps
	from, to int64  // recorded time, ns on the rank's own clock
	steps    []trace.Step
	periods  []int64 // period of each step but the last
	// The fields below are shares of the window: the time in forward steps, with kernels running, with a software
	// device waiting for a core, and with KV cache being sent.
	stepping, busy, noCore, sending float64
	copies                          []copied         // copies of KV cache
	kernels                         map[string]int64 // end of the last kernel in steps of each request
	begins                          map[string]int64 // begin of the first step of each request
}

// copied is a copy of KV cache.
type copied struct {
	prep.Interval
	name  string // name, such as "kv_send layer=3"
	of    request
	bytes int64
}

// request identifies the request to which a copy belongs. Fields that the trace does not give are empty.
type request struct {
	room int64
	ids  string // request ids as in trace.Pass
}

// NewServer extracts the data of one prefill or decode server from the ranks of a window.
func NewServer(name string, loads []trace.Load, ranks []*prep.Rank, n *prep.Names) *Server {
	s := &Server{name: name, loads: loads}
	for _, r := range ranks {
		steps := r.Steps
		if r.Rule == trace.Uncut {
			steps = nil // a single step that covers the whole window says nothing about real steps
		} else if len(steps) == 0 {
			continue // the file ends within its first step
		}
		s.ranks = append(s.ranks, sideRank(r, n, steps))
	}
	return s
}

// sideRank extracts the data of a rank that made at least one step.
func sideRank(r *prep.Rank, n *prep.Names, steps []prep.Step) *pdRank {
	p := &pdRank{at: r.Source.Rank, host: r.Source.Host, rule: r.Rule, kernels: map[string]int64{}, begins: map[string]int64{}}
	// done holds the end of each step's work on the device, and kernel the end of each step's last kernel.
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

// recordedIn returns the recorded time that the file gives. If the file does not give it or is truncated, recordedIn
// returns the time covered by the steps. The file's time is preferable because a lightly loaded server is idle for most
// of the window, including the time before its first step and after its last step.
func recordedIn(r *prep.Rank, steps []prep.Step, done []int64) (from, to int64) {
	switch said := r.Recorded; {
	case len(steps) == 0:
		return said.Start, said.End
	case said == prep.Interval{}: // steps may be missing, and missing steps are not idle time
		return steps[0].Start, slices.Max(done)
	default:
		return min(steps[0].Start, said.Start), max(slices.Max(done), said.End)
	}
}

// Usable drops the ranks without steps, unless they certainly had no work. The absence of work is certain if the file
// gives the length of its recording, and the files of other servers name their steps.
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
					leads[r.at.DP] = r.at // a rank has one file per stage if the window was split by stage
				}
				k.ranks = append(k.ranks, r)
			}
			kept = append(kept, k)
		}
		out = append(out, kept)
	}
	return out
}

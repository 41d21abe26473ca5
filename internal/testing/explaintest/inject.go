package explaintest

import (
	"cmp"
	"slices"
	"sort"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// Captures with faults that were not recorded, made from real ones: time is inserted at chosen moments of each rank, so
// that running work takes longer and everything after it comes later. If every rank gets the same total between two
// collectives, the result is what the fault would have recorded.

// pause inserts d ns at a moment.
type pause struct{ at, d int64 }

// warp applies pauses to all of a rank's events.
func warp(t *trace.Trace, list []pause) {
	slices.SortFunc(list, func(a, b pause) int { return cmp.Compare(a.at, b.at) })
	sums := make([]int64, len(list)+1)
	for i, p := range list {
		sums[i+1] = sums[i] + p.d
	}
	move := func(at int64) int64 {
		n := sort.Search(len(list), func(i int) bool { return list[i].at >= at })
		return at + sums[n]
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		start, end := move(s.Start), move(s.End())
		s.Start, s.Dur = start, end-start
	}
	for i := range t.Memory {
		t.Memory[i].Time = move(t.Memory[i].Time)
	}
}

// Injector holds the steps and collectives of a set, to insert pauses between them.
type Injector struct {
	ts     []*trace.Trace
	Ranks  []*prep.Rank
	Comms  [][][]int32 // rank, step, order: op
	pauses [][]pause
}

// NewInjector returns an injector into a copy of a set.
func NewInjector(t testing.TB, set []*trace.Trace) *Injector {
	t.Helper()
	in := &Injector{ts: retime.Copy(set), pauses: make([][]pause, len(set))}
	for _, tr := range in.ts {
		in.Ranks = append(in.Ranks, prep.Trace(tr, nil))
	}
	prep.Join(in.Ranks)
	for _, r := range in.Ranks {
		by := make([][]int32, len(r.Steps))
		for j := range r.Ops {
			if o := &r.Ops[j]; o.Comm() && o.Step >= 0 {
				by[o.Step] = append(by[o.Step], int32(j))
			}
		}
		in.Comms = append(in.Comms, by)
	}
	return in
}

// add inserts a pause on the late rank, and the same on all others where they wait for it: at the end of their
// collective of the given step and order.
func (in *Injector) add(late int, at, d int64, step, order int) {
	in.pauses[late] = append(in.pauses[late], pause{at, d})
	for i, r := range in.Ranks {
		if i != late {
			in.pauses[i] = append(in.pauses[i], pause{r.Ops[in.Comms[i][step][order]].End - 1, d})
		}
	}
}

// Done returns the set with all pauses.
func (in *Injector) Done() []*trace.Trace {
	for i := range in.ts {
		warp(in.ts[i], in.pauses[i])
	}
	return in.ts
}

// HostStall makes a rank's launching thread stall for d at the beginning of each of the steps.
func (in *Injector) HostStall(late, first, last int, d int64) {
	r := in.Ranks[late]
	for n := first; n <= last; n++ {
		in.add(late, r.Steps[n].Start+1, d, n, 0)
	}
}

// SlowDevice stretches the kernels of a rank, except collectives, by a share of their length. It calls edit for every
// stretched op.
func (in *Injector) SlowDevice(late, first, last int, share float64, edit func(*trace.Op)) {
	r := in.Ranks[late]
	for n := first; n <= last; n++ {
		at := 0
		for j := range r.Ops {
			o := &r.Ops[j]
			if int(o.Step) != n {
				continue
			}
			if o.Comm() {
				at++
				continue
			}
			if d := int64(share * float64(o.End-o.Start)); d > 0 && at < len(in.Comms[late][n]) {
				in.add(late, o.End-1, d, n, at)
				if edit != nil {
					edit(&in.ts[late].Ops[in.ts[late].Spans[o.Span].Detail])
				}
			}
		}
	}
}

// SlowTransfer makes a rank leave its collectives later by d, except the step's last.
func (in *Injector) SlowTransfer(late, first, last int, d int64) {
	r := in.Ranks[late]
	for n := first; n <= last; n++ {
		for k, op := range in.Comms[late][n][:len(in.Comms[late][n])-1] {
			in.add(late, r.Ops[op].End-1, d, n, k+1)
		}
	}
}

// Stretch lengthens the kernels of a step by a share per rank: between two collectives each rank takes longer by its
// own share, and waits for the slowest.
func (in *Injector) Stretch(step int, share func(rank int) float64) {
	n := len(in.Comms[0][step])
	extra := make([][]int64, len(in.Ranks))
	for i, r := range in.Ranks {
		extra[i] = make([]int64, n+1)
		at := 0
		for j := range r.Ops {
			o := &r.Ops[j]
			switch {
			case int(o.Step) != step:
			case o.Comm():
				at++
			case at < n:
				d := int64(share(i) * float64(o.End-o.Start))
				in.pauses[i] = append(in.pauses[i], pause{o.End - 1, d})
				extra[i][at] += d
			}
		}
	}
	for at := range n {
		var most int64
		for i := range in.Ranks {
			most = max(most, extra[i][at])
		}
		for i, r := range in.Ranks {
			in.pauses[i] = append(in.pauses[i], pause{r.Ops[in.Comms[i][step][at]].End - 1, most - extra[i][at]})
		}
	}
}

package explain

import (
	"cmp"
	"slices"
	"sort"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
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

// clone copies the parts that tests edit.
func clone(ts []*trace.Trace) []*trace.Trace {
	out := make([]*trace.Trace, len(ts))
	for i, t := range ts {
		c := *t
		c.Strings = t.Strings.Clone()
		c.Spans, c.Ops, c.Comms = slices.Clone(t.Spans), slices.Clone(t.Ops), slices.Clone(t.Comms)
		c.Memory, c.Notes, c.Tracks = slices.Clone(t.Memory), slices.Clone(t.Notes), slices.Clone(t.Tracks)
		out[i] = &c
	}
	return out
}

// injector holds the steps and collectives of a set, to insert pauses between them.
type injector struct {
	ts     []*trace.Trace
	ranks  []*prep.Rank
	comms  [][][]int32 // rank, step, order: op
	pauses [][]pause
}

func newInjector(t testing.TB, set []*trace.Trace) *injector {
	t.Helper()
	in := &injector{ts: clone(set), pauses: make([][]pause, len(set))}
	for _, tr := range in.ts {
		in.ranks = append(in.ranks, prep.Trace(tr, nil))
	}
	prep.Join(in.ranks)
	for _, r := range in.ranks {
		by := make([][]int32, len(r.Steps))
		for j := range r.Ops {
			if o := &r.Ops[j]; o.Comm() && o.Step >= 0 {
				by[o.Step] = append(by[o.Step], int32(j))
			}
		}
		in.comms = append(in.comms, by)
	}
	return in
}

// add inserts a pause on the late rank, and the same on all others where they wait for it: at the end of their
// collective of the given step and order.
func (in *injector) add(late int, at, d int64, step, order int) {
	in.pauses[late] = append(in.pauses[late], pause{at, d})
	for i, r := range in.ranks {
		if i != late {
			in.pauses[i] = append(in.pauses[i], pause{r.Ops[in.comms[i][step][order]].End - 1, d})
		}
	}
}

func (in *injector) done() []*trace.Trace {
	for i := range in.ts {
		warp(in.ts[i], in.pauses[i])
	}
	return in.ts
}

// hostStall makes a rank's launching thread stall for d at the beginning of each of the steps.
func (in *injector) hostStall(late, first, last int, d int64) {
	r := in.ranks[late]
	for n := first; n <= last; n++ {
		in.add(late, r.Steps[n].Start+1, d, n, 0)
	}
}

// slowDevice stretches the kernels of a rank, except collectives, by a share of their length. It calls edit for every
// stretched op.
func (in *injector) slowDevice(late, first, last int, share float64, edit func(*trace.Op)) {
	r := in.ranks[late]
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
			if d := int64(share * float64(o.End-o.Start)); d > 0 && at < len(in.comms[late][n]) {
				in.add(late, o.End-1, d, n, at)
				if edit != nil {
					edit(&in.ts[late].Ops[in.ts[late].Spans[o.Span].Detail])
				}
			}
		}
	}
}

// slowTransfer makes a rank leave its collectives later by d, except the step's last.
func (in *injector) slowTransfer(late, first, last int, d int64) {
	r := in.ranks[late]
	for n := first; n <= last; n++ {
		for k, op := range in.comms[late][n][:len(in.comms[late][n])-1] {
			in.add(late, r.Ops[op].End-1, d, n, k+1)
		}
	}
}

package kernels

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/tables"
)

// Waiting is the name of the row for the time that collective kernels wait for other ranks. The kernels' own rows have
// only the transfer. waitClass is its class.
const (
	Waiting   = "waiting for other ranks, or they were not recorded"
	waitClass = "wait"
)

// waitOf returns the time of an op before the last rank arrived, and while another rank was not recorded.
func waitOf(r *match.Rank, op int) int64 {
	o := &r.Ops[op]
	if !o.Comm() {
		return 0
	}
	return o.End - o.Start - max(r.Own(op), 0)
}

// waits are the waits of the selected work.
type waits struct {
	total    int64
	ofClass  map[string]int64
	ofKernel map[string]*transfers // only kernels that waited
}

// transfers are the durations of a kernel without its waits.
type transfers struct {
	wait    int64
	durs    []int64
	perRank map[*match.Rank][]int64
}

func (w *Work) waits(q Query) *waits {
	out := &waits{ofClass: map[string]int64{}, ofKernel: map[string]*transfers{}}
	each := func(do func(r *match.Rank, op int, wait int64)) {
		for _, r := range w.ranks(q) {
			for op := range r.Ops {
				if q.takes(r, r.Ops[op].Step) {
					do(r, op, waitOf(r, op))
				}
			}
		}
	}
	each(func(r *match.Rank, op int, wait int64) {
		if o := &r.Ops[op]; wait > 0 {
			out.total += wait
			out.ofClass[string(o.Class.Group())] += wait
			if name := w.a.Names.List[o.Name]; out.ofKernel[name] == nil {
				out.ofKernel[name] = &transfers{perRank: map[*match.Rank][]int64{}}
			}
		}
	})
	each(func(r *match.Rank, op int, wait int64) {
		o := &r.Ops[op]
		if t := out.ofKernel[w.a.Names.List[o.Name]]; t != nil {
			own := o.End - o.Start - wait
			t.wait += wait
			t.durs, t.perRank[r] = append(t.durs, own), append(t.perRank[r], own)
		}
	})
	return out
}

// separate takes the waits out of a row.
func (t *transfers) separate(r *Row) {
	slices.Sort(t.durs)
	r.Wait, r.Total = t.wait, r.Total-t.wait
	r.Min, r.Max = t.durs[0], t.durs[len(t.durs)-1]
	r.Median, r.P99 = int64(metric.Quantile(t.durs, 0.5)), int64(metric.Quantile(t.durs, 0.99))
	if r.Spread > 0 {
		r.Spread, r.Slow, r.Fast = tables.Spread(t.perRank)
		r.Slow, r.Fast = columns.Clean(r.Slow), columns.Clean(r.Fast)
	}
}

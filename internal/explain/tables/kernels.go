package tables

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// kernelSums is what is added up of one kernel in steps of one kind.
type kernelSums struct {
	durs         []int64
	total, timed int64
	flops, bytes float64
	bytesOver    int64 // ns of the ops whose bytes are known
	perRank      map[int][]int64
}

// Kernels sums up GPU work by class and by name, per step kind and over all.
func Kernels(a *match.Aligned) (classes []result.ClassRow, rows []result.KernelRow) {
	type group struct {
		name int32
		kind string
	}
	by, byClass, kindTotal := map[group]*kernelSums{}, map[[2]string]*result.ClassRow{}, map[string]int64{}
	for _, r := range a.Ranks {
		for i := range r.Ops {
			o := &r.Ops[i]
			dur := o.End - o.Start
			f, timed := r.Flops[int32(i)]
			for _, k := range [...]string{"all", prep.KindName(r.KindAt(o.Step))} {
				g := at(by, group{o.Name, k})
				g.durs = append(g.durs, dur)
				g.total += dur
				if timed {
					g.flops += f
					g.timed += dur
				}
				if o.Bytes > 0 && dur > 0 {
					g.bytes += float64(o.Bytes)
					g.bytesOver += dur
				}
				if k == "all" {
					if g.perRank == nil {
						g.perRank = map[int][]int64{}
					}
					g.perRank[r.Index] = append(g.perRank[r.Index], dur)
				}
				c := at(byClass, [2]string{string(o.Class.Group()), k})
				c.Count++
				c.Total += dur
				kindTotal[k] += dur
			}
		}
	}
	for g, s := range by {
		slices.Sort(s.durs)
		name := a.Names.List[g.name]
		row := result.KernelRow{
			Name: name, Short: kernel.Short(name), Kind: g.kind, Class: string(a.Names.Class[g.name].Group()),
			Count: len(s.durs), Total: s.total, Min: s.durs[0], Max: s.durs[len(s.durs)-1],
			Median: int64(metric.Quantile(s.durs, 0.5)), P99: int64(metric.Quantile(s.durs, 0.99)),
			Share: metric.Share(s.total, kindTotal[g.kind]), Spread: spread(s.perRank),
		}
		if s.timed > 0 {
			row.TFLOPs = s.flops / float64(s.timed) / 1e3
			row.Timed = metric.Share(s.timed, s.total)
		}
		if s.bytesOver > 0 {
			row.GBs = s.bytes / float64(s.bytesOver)
			row.Timed = metric.Share(s.bytesOver, s.total)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y result.KernelRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name))
	})
	for k, c := range byClass {
		c.Class, c.Kind, c.Share = k[0], k[1], metric.Share(c.Total, kindTotal[k[1]])
		classes = append(classes, *c)
	}
	slices.SortFunc(classes, func(x, y result.ClassRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Class, y.Class))
	})
	return classes, rows
}

// at is what a map has under a key, made if it has nothing there yet.
func at[K comparable, V any](in map[K]*V, k K) *V {
	v := in[k]
	if v == nil {
		v = new(V)
		in[k] = v
	}
	return v
}

// kindOrder puts "all" first, then the kinds by name.
func kindOrder(a, b string) int {
	return cmp.Or(result.First(a == "all", b == "all"), cmp.Compare(a, b))
}

// spread is the slowest rank's median over the fastest's, minus 1.
func spread(perRank map[int][]int64) float64 {
	lo, hi := 0.0, 0.0
	for _, durs := range perRank {
		m := metric.MedianInPlace(durs)
		if lo == 0 || m < lo {
			lo = m
		}
		hi = max(hi, m)
	}
	if lo == 0 {
		return 0
	}
	return hi/lo - 1
}

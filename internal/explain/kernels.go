package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// kernelSums is what is added up of one kernel in steps of one kind.
type kernelSums struct {
	durs         []int64
	total, timed int64
	flops, bytes float64
	bytesOver    int64 // ns of the ops whose bytes are known
	perRank      map[int][]int64
}

// kernelRows sums up GPU work by class and by name, per step kind and over all.
func kernelRows(a *aligned) (classes []ClassRow, rows []KernelRow) {
	type group struct {
		name int32
		kind string
	}
	by, byClass, kindTotal := map[group]*kernelSums{}, map[[2]string]*ClassRow{}, map[string]int64{}
	for _, r := range a.ranks {
		for i := range r.ops {
			o := &r.ops[i]
			dur := o.end - o.start
			f, timed := r.flops[int32(i)]
			for _, k := range [...]string{"all", kindName(r.kindAt(o.step))} {
				g := at(by, group{o.name, k})
				g.durs = append(g.durs, dur)
				g.total += dur
				if timed {
					g.flops += f
					g.timed += dur
				}
				if o.bytes > 0 && dur > 0 {
					g.bytes += float64(o.bytes)
					g.bytesOver += dur
				}
				if k == "all" {
					if g.perRank == nil {
						g.perRank = map[int][]int64{}
					}
					g.perRank[r.index] = append(g.perRank[r.index], dur)
				}
				c := at(byClass, [2]string{string(o.class.Group()), k})
				c.Count++
				c.Total += dur
				kindTotal[k] += dur
			}
		}
	}
	for g, s := range by {
		slices.Sort(s.durs)
		name := a.names.list[g.name]
		row := KernelRow{
			Name: name, Short: kernel.Short(name), Kind: g.kind, Class: string(a.names.class[g.name].Group()),
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
	slices.SortFunc(rows, func(x, y KernelRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name))
	})
	for k, c := range byClass {
		c.Class, c.Kind, c.Share = k[0], k[1], metric.Share(c.Total, kindTotal[k[1]])
		classes = append(classes, *c)
	}
	slices.SortFunc(classes, func(x, y ClassRow) int {
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
	return cmp.Or(First(a == "all", b == "all"), cmp.Compare(a, b))
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

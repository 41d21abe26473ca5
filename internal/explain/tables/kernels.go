package tables

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// kernelSums holds the sums of one kernel in steps of one kind.
type kernelSums struct {
	durs         []int64
	total, timed int64
	flops, bytes float64
	bytesOver    int64 // total time of the ops with a known size, ns
	perRank      map[*match.Rank][]int64
	rank         *match.Rank // the first rank that ran the kernel
	shared       bool        // other ranks ran it, too
}

// kindSums holds the sums of steps of one kind.
type kindSums struct {
	kind    string
	total   int64
	kernels []*kernelSums                  // by name
	classes [kernel.Memset + 1]kernelCount // by class
}

type kernelCount struct {
	count int
	total int64
}

func (k *kindSums) add(r *match.Rank, op int, perRank bool) {
	o := &r.Ops[op]
	dur := o.End - o.Start
	g := k.kernels[o.Name]
	if g == nil {
		g = &kernelSums{rank: r}
		k.kernels[o.Name] = g
	}
	g.shared = g.shared || g.rank != r
	g.durs = append(g.durs, dur)
	g.total += dur
	if f, timed := r.Flops[int32(op)]; timed {
		g.flops += f
		g.timed += dur
	}
	if o.Bytes > 0 && dur > 0 {
		g.bytes += float64(o.Bytes)
		g.bytesOver += dur
	}
	if perRank {
		if g.perRank == nil {
			g.perRank = map[*match.Rank][]int64{}
		}
		g.perRank[r] = append(g.perRank[r], dur)
	}
	k.classes[o.Class].count++
	k.classes[o.Class].total += dur
	k.total += dur
}

// Kernels sums up GPU work by class and by name, for each kind of step and for all steps together.
func Kernels(a *match.Aligned) (classes []result.ClassRow, rows []result.KernelRow) {
	of := func(kind string) *kindSums {
		return &kindSums{kind: kind, kernels: make([]*kernelSums, len(a.Names.List))}
	}
	all, kinds := of("all"), map[trace.StepKind]*kindSums{}
	for _, r := range a.Ranks {
		for i := range r.Ops {
			kind := r.KindAt(r.Ops[i].Step)
			if kinds[kind] == nil {
				kinds[kind] = of(prep.KindName(kind))
			}
			all.add(r, i, true)
			kinds[kind].add(r, i, false)
		}
	}
	each, n := append(slices.Collect(maps.Values(kinds)), all), 0
	for _, k := range each {
		classes = append(classes, k.classRows()...)
		for _, s := range k.kernels {
			if s != nil {
				n++
			}
		}
	}
	rows = make([]result.KernelRow, 0, n)
	short := make([]string, len(a.Names.List)) // a name takes microseconds, and occurs in several kinds
	for _, k := range each {
		rows = k.kernelRows(a, rows, short)
	}
	sorts.By(rows, func(x, y result.KernelRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name))
	})
	sorts.By(classes, func(x, y result.ClassRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Class, y.Class))
	})
	return classes, rows
}

func (k *kindSums) classRows() (rows []result.ClassRow) {
	by := map[kernel.Group]*result.ClassRow{}
	for class, c := range k.classes {
		if c.count > 0 {
			row := at(by, kernel.Class(class).Group())
			row.Count += c.count
			row.Total += c.total
		}
	}
	for group, row := range by {
		row.Class, row.Kind, row.Share = string(group), k.kind, metric.Share(row.Total, k.total)
		rows = append(rows, *row)
	}
	return rows
}

// kernelRows appends the rows of a kind. short holds the short names as far as they are known.
func (k *kindSums) kernelRows(a *match.Aligned, rows []result.KernelRow, short []string) []result.KernelRow {
	for id, s := range k.kernels {
		if s == nil {
			continue
		}
		slices.Sort(s.durs)
		name := a.Names.List[id]
		if short[id] == "" {
			short[id] = kernel.Short(name)
		}
		row := result.KernelRow{
			Name: name, Short: short[id], Kind: k.kind, Class: string(a.Names.Class[id].Group()),
			Count: len(s.durs), Total: s.total, Min: s.durs[0], Max: s.durs[len(s.durs)-1],
			Median: int64(metric.Quantile(s.durs, 0.5)), P99: int64(metric.Quantile(s.durs, 0.99)),
			Share:   metric.Share(s.total, k.total),
			Sources: []result.KernelSource{}, Fused: kernel.Fused(name),
		}
		row.Spread, row.Slowest, row.Fastest = Spread(s.perRank)
		if len(a.Ranks) > 1 && !s.shared {
			row.Only = s.rank.Label
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
	return rows
}

// at returns the value of a key. It creates the value if the key is missing.
func at[K comparable, V any](in map[K]*V, k K) *V {
	v := in[k]
	if v == nil {
		v = new(V)
		in[k] = v
	}
	return v
}

// kindOrder sorts "all" first, then the kinds by name.
func kindOrder(a, b string) int {
	return cmp.Or(result.First(a == "all", b == "all"), cmp.Compare(a, b))
}

// Spread returns the slowest rank's median over the fastest's, minus 1, and the labels of both ranks.
func Spread(perRank map[*match.Rank][]int64) (more float64, slowest, fastest string) {
	lo, hi := 0.0, 0.0
	for r, durs := range perRank {
		m := metric.MedianInPlace(durs)
		if lo == 0 || m < lo || m == lo && r.Label < fastest {
			lo, fastest = m, r.Label
		}
		if m > hi || m == hi && r.Label < slowest {
			hi, slowest = m, r.Label
		}
	}
	if lo == 0 {
		return 0, "", ""
	}
	return hi/lo - 1, slowest, fastest
}

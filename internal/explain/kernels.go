package explain

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// kernels fills the tables by class and by name, per step kind and over all.
func (a *analyzer) kernels() {
	type group struct {
		name int32
		kind string
	}
	type sums struct {
		durs         []int64
		total, timed int64
		flops, bytes float64
		bytesOver    int64 // ns of the ops whose bytes are known
		perRank      map[int][]int64
	}
	by := map[group]*sums{}
	classes := map[[2]string]*ClassRow{}
	kindTotal := map[string]int64{}
	for _, r := range a.ranks {
		flops := r.flopsOf()
		for i := range r.ops {
			o := &r.ops[i]
			dur := o.end - o.start
			kind := "outside"
			if o.step >= 0 {
				kind = r.steps[o.step].info.Kind.String()
			}
			f, timed := flops[int32(i)]
			detail := &r.t.Ops[r.t.Spans[o.span].Detail]
			for _, k := range [...]string{"all", kind} {
				g := by[group{o.name, k}]
				if g == nil {
					g = &sums{}
					if k == "all" {
						g.perRank = map[int][]int64{}
					}
					by[group{o.name, k}] = g
				}
				g.durs = append(g.durs, dur)
				g.total += dur
				if timed {
					g.flops += f
					g.timed += dur
				}
				if detail.Bytes > 0 && dur > 0 {
					g.bytes += float64(detail.Bytes)
					g.bytesOver += dur
				}
				if k == "all" {
					g.perRank[r.index] = append(g.perRank[r.index], dur)
				}
				class := string(o.class.Group())
				c := classes[[2]string{class, k}]
				if c == nil {
					c = &ClassRow{Class: class, Kind: k}
					classes[[2]string{class, k}] = c
				}
				c.Count++
				c.Total += dur
				kindTotal[k] += dur
			}
		}
	}
	for g, s := range by {
		slices.Sort(s.durs)
		row := KernelRow{
			Name: a.names.list[g.name], Kind: g.kind, Class: string(a.names.class[g.name].Group()),
			Count: len(s.durs), Total: s.total, Min: s.durs[0], Max: s.durs[len(s.durs)-1],
			Median: int64(metric.Quantile(s.durs, 0.5)), P99: int64(metric.Quantile(s.durs, 0.99)),
			Share: share(s.total, kindTotal[g.kind]),
		}
		if s.timed > 0 {
			row.TFLOPs = s.flops / float64(s.timed) / 1e3
			row.Timed = share(s.timed, s.total)
		}
		if s.bytesOver > 0 {
			row.GBs = s.bytes / float64(s.bytesOver)
			row.Timed = share(s.bytesOver, s.total)
		}
		row.Spread = spread(s.perRank)
		a.report.Kernels = append(a.report.Kernels, row)
	}
	for i := range a.report.Kernels {
		a.report.Kernels[i].Short = kernel.Short(a.report.Kernels[i].Name)
	}
	slices.SortFunc(a.report.Kernels, func(x, y KernelRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Name, y.Name))
	})
	for _, c := range classes {
		c.Share = share(c.Total, kindTotal[c.Kind])
		a.report.Classes = append(a.report.Classes, *c)
	}
	slices.SortFunc(a.report.Classes, func(x, y ClassRow) int {
		return cmp.Or(kindOrder(x.Kind, y.Kind), cmp.Compare(y.Total, x.Total), cmp.Compare(x.Class, y.Class))
	})
}

// kindOrder puts "all" first, then the kinds by name.
func kindOrder(a, b string) int {
	return cmp.Or(-boolCompare(a == "all", b == "all"), cmp.Compare(a, b))
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
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

// flopsOf gives the floating point operations of each GPU op whose launching
// CPU op has recorded shapes. An op that runs as several kernels (split-K) has
// its cost divided among them by their time.
func (r *rank) flopsOf() map[int32]float64 {
	type costKey struct {
		name, dims, types trace.StringID
	}
	costs := map[costKey]float64{}
	byExt := map[int64]float64{}
	t := r.t
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != trace.CPUOp || s.Detail < 0 || s.Ext == 0 {
			continue
		}
		sh := t.Shapes[s.Detail]
		key := costKey{s.Name, sh.Dims, sh.Types}
		flops, known := costs[key]
		if !known {
			dims, err := kernel.ParseDims(t.Strings.Get(sh.Dims))
			types, typesErr := kernel.ParseStrings(t.Strings.Get(sh.Types))
			if err == nil && typesErr == nil {
				if n, _, ok := kernel.OpCost(t.Strings.Get(s.Name), dims, types); ok {
					flops = float64(n)
				}
			}
			costs[key] = flops
		}
		if flops > 0 {
			byExt[s.Ext] = flops
		}
	}
	if len(byExt) == 0 {
		return nil
	}
	counts := func(o *op) bool {
		return t.Spans[o.span].Cat == trace.Kernel && (o.class == kernel.GEMM || o.class == kernel.MoEGEMM || o.class == kernel.Attention)
	}
	took := map[int64]int64{}
	for i := range r.ops {
		if o := &r.ops[i]; counts(o) {
			took[t.Spans[o.span].Ext] += o.end - o.start
		}
	}
	out := map[int32]float64{}
	for i := range r.ops {
		o := &r.ops[i]
		ext := t.Spans[o.span].Ext
		if f, ok := byExt[ext]; ok && counts(o) && took[ext] > 0 {
			out[int32(i)] = f * float64(o.end-o.start) / float64(took[ext])
		}
	}
	return out
}

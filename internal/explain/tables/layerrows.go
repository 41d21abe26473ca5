package tables

import (
	"cmp"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// over returns the number of steps of a kind and their GPU or host time, summed over the ranks on which the row of s
// has work.
func (w *LayerWork) over(k trace.StepKind, s *layerSums) (t layerTotals) {
	for r := range s.own {
		if own := w.ranks[r][k]; own != nil {
			t.steps += own.steps
			t.gpu += own.gpu
			t.host += own.host
		}
	}
	return t
}

// slowest compares the time per step, without waiting, of the ranks.
func (w *LayerWork) slowest(k trace.StepKind, s *layerSums) (spread float64, rank int) {
	lo, hi := 0.0, 0.0
	rank = -1
	for r := range w.ranks {
		own, ok := s.own[int32(r)]
		if !ok || own == 0 || w.ranks[r][k] == nil {
			continue
		}
		each := float64(own) / float64(w.ranks[r][k].steps)
		if each > hi {
			hi, rank = each, r
		}
		if lo == 0 || each < lo {
			lo = each
		}
	}
	if lo == 0 || len(s.own) < 2 {
		return 0, -1
	}
	return hi/lo - 1, rank
}

// rows adds the rows of the tables to out.
func (w *LayerWork) rows(out *result.Layers, hostOnly bool) {
	for k, t := range w.totals {
		n := int64(t.Steps)
		if k == prep.OutsideSteps && t.GPU == 0 && t.InRange == 0 || n == 0 {
			continue
		}
		out.Totals = append(out.Totals, result.LayerTotal{
			Kind: prep.KindName(k), Steps: t.Steps, GPU: t.GPU / n, InModule: t.InModule / n, Graphs: t.Graphs / n, Placed: t.Placed / n, Host: t.Host / n, InRange: t.InRange / n,
		})
	}
	sorts.By(out.Totals, func(x, y result.LayerTotal) int { return cmp.Compare(x.Kind, y.Kind) })
	part := func(s *layerSums, t *layerTotals) float64 {
		if hostOnly {
			return metric.Share(s.host, t.host)
		}
		return metric.Share(s.gpu, t.gpu)
	}
	for k, s := range w.layers {
		t := w.over(k.kind, s)
		l := &w.marks.Layers[k.at]
		n := int64(max(t.steps, 1))
		row := result.LayerRow{
			Kind: prep.KindName(k.kind), Stack: l.Stack, Layer: l.N, GPU: s.gpu / n, Wait: s.wait / n, Share: part(s, &t), Host: s.host / n,
			Kernels: float64(s.kernels) / float64(n), Calls: float64(s.calls) / float64(n), Elements: l.Elements,
		}
		row.Spread, row.Slowest = w.slowest(k.kind, s)
		out.Layers = append(out.Layers, row)
	}
	sorts.By(out.Layers, func(x, y result.LayerRow) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Stack, y.Stack), cmp.Compare(x.Layer, y.Layer))
	})
	for k, s := range w.modules {
		t := w.over(k.kind, s)
		g := &w.marks.Groups[k.at]
		n := int64(max(t.steps, 1))
		row := result.ModuleRow{
			Kind: prep.KindName(k.kind), Stack: g.Stack, Module: g.Kind, Name: g.Name(), Scope: g.Scope, Modules: g.Modules,
			GPU: s.gpu / n, Self: s.self / n, Wait: s.wait / n, Share: part(s, &t), Host: s.host / n, HostSelf: s.hostSelf / n,
			Kernels: float64(s.kernels) / float64(n), Calls: float64(s.calls) / float64(n), Class: mainClass(s),
			Elements: g.Elements, Static: g.Static, Varied: len(s.inputs),
		}
		if s.calls > 0 {
			row.Each = s.gpu / int64(s.calls)
			if hostOnly {
				row.Each = s.host / int64(s.calls)
			}
		}
		if s.timed > 0 {
			row.TFLOPs = s.flops / float64(s.timed) / 1e3
		}
		most := 0
		for in, calls := range s.inputs {
			if calls > most || calls == most && in < row.Inputs {
				row.Inputs, most = in, calls
			}
		}
		row.Spread, row.Slowest = w.slowest(k.kind, s)
		out.Modules = append(out.Modules, row)
	}
	sorts.By(out.Modules, func(x, y result.ModuleRow) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(y.GPU, x.GPU), cmp.Compare(y.Host, x.Host), cmp.Compare(x.Name, y.Name))
	})
}

// mainClass returns the group of kernel classes with the largest GPU time.
func mainClass(s *layerSums) string {
	by := map[kernel.Group]int64{}
	for c, ns := range s.class {
		by[kernel.Class(c).Group()] += ns
	}
	best, most := "", int64(0)
	for _, g := range kernel.Groups() {
		if by[g] > most {
			best, most = string(g), by[g]
		}
	}
	return best
}

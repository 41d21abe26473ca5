package tables

import (
	"cmp"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// layerSums holds the sums for one row of a table, over all steps and ranks.
type layerSums struct {
	gpu, self, wait, host, hostSelf int64
	kernels, calls                  int
	class                           [kernel.Memset + 1]int64
	flops                           float64
	timed                           int64           // total time of the kernels that flops covers, ns
	inputs                          map[string]int  // number of calls by inputs
	own                             map[int32]int64 // GPU time without waiting, by rank
}

type layerKey struct {
	kind trace.StepKind
	at   int32 // index in Groups or Layers
}

// layerTotals holds the totals of one rank for one kind of step, by which shares are computed.
type layerTotals struct {
	steps     int
	gpu, host int64
}

// LayerWork sums up ranges and the GPU work launched in them.
type LayerWork struct {
	marks   *prep.Markers
	modules map[layerKey]*layerSums
	layers  map[layerKey]*layerSums
	ranks   []map[trace.StepKind]*layerTotals
	totals  map[trace.StepKind]*result.LayerTotal // sums over all ranks
	steps   []map[int32][]int64                   // time in each step, without waiting, by rank and layer
}

func sumsAt(in map[layerKey]*layerSums, k layerKey) *layerSums {
	s := in[k]
	if s == nil {
		s = &layerSums{inputs: map[string]int{}, own: map[int32]int64{}}
		in[k] = s
	}
	return s
}

// Layers returns the layer-wise tables, and the sums from which they are computed. w is nil if there are no markers.
func Layers(a *match.Aligned) (out result.Layers, w *LayerWork) {
	if a.Marks == nil {
		return out, nil
	}
	w = &LayerWork{marks: a.Marks, modules: map[layerKey]*layerSums{}, layers: map[layerKey]*layerSums{}, totals: map[trace.StepKind]*result.LayerTotal{}}
	for _, r := range a.Ranks {
		w.add(r)
	}
	w.rows(&out, a.HostOnly)
	w.ofLike(out.Layers, a.Ranks)
	return out, w
}

// add adds one rank: first its ranges on the host, then the GPU work launched in them.
func (w *LayerWork) add(r *match.Rank) {
	own := map[trace.StepKind]*layerTotals{}
	for i := range r.Steps {
		t := at(own, r.Steps[i].Info.Kind)
		t.steps++
		t.host += r.Steps[i].End - r.Steps[i].Start
	}
	at(own, prep.OutsideSteps).steps = 1
	bySteps := map[int32][]int64{}
	w.ranks, w.steps = append(w.ranks, own), append(w.steps, bySteps)
	w.addHost(r)
	timed := make([]bool, len(r.Ranges))
	for i := range r.Ops {
		o := &r.Ops[i]
		k := r.KindAt(o.Step)
		at(own, k).gpu += o.End - o.Start
		total := at(w.totals, k)
		total.GPU += o.End - o.Start
		if r.InGraph(o) {
			total.Graphs += o.End - o.Start
		}
		in := r.RangeAt(i)
		if in < 0 {
			continue
		}
		g := &r.Ranges[in]
		self := sumsAt(w.modules, layerKey{k, w.marks.Modules[g.Module].Group})
		self.self += o.End - o.Start
		if text := &w.marks.Texts[g.Text]; text.Flops > 0 && (o.Class == kernel.GEMM || o.Class == kernel.MoEGEMM) {
			self.timed += o.End - o.Start
			if !timed[in] {
				timed[in] = true
				self.flops += text.Flops
			}
		}
		inModule := false
		for ; in >= 0; in = g.Parent {
			g = &r.Ranges[in]
			mod := &w.marks.Modules[g.Module]
			inModule = inModule || !mod.Scope
			if g.FirstGroup {
				w.addOp(sumsAt(w.modules, layerKey{k, mod.Group}), r, i)
			}
			if mod.Layer >= 0 && g.FirstLayer {
				w.addOp(sumsAt(w.layers, layerKey{k, mod.Layer}), r, i)
				if o.Step >= 0 {
					if bySteps[mod.Layer] == nil {
						bySteps[mod.Layer] = make([]int64, len(r.Steps))
					}
					bySteps[mod.Layer][o.Step] += r.Own(i)
				}
			}
		}
		if inModule {
			total.InModule += o.End - o.Start
			if r.InGraph(o) {
				total.Placed += o.End - o.Start
			}
		}
	}
	for k, t := range own {
		if total := at(w.totals, k); t.steps > 0 {
			total.Steps += t.steps
			total.Host += t.host
		}
	}
}

func (w *LayerWork) addOp(s *layerSums, r *match.Rank, i int) {
	o := &r.Ops[i]
	dur := o.End - o.Start
	s.gpu += dur
	s.wait += r.Wait[i]
	s.class[o.Class] += dur
	s.own[int32(r.Index)] += r.Own(i)
	if o.Cat == trace.Kernel {
		s.kernels++
	}
}

// addHost adds the ranges of one rank.
func (w *LayerWork) addHost(r *match.Rank) {
	for i := range r.Ranges {
		g := &r.Ranges[i]
		k := r.KindAt(g.Step)
		mod := &w.marks.Modules[g.Module]
		s := sumsAt(w.modules, layerKey{k, mod.Group})
		s.calls++
		s.hostSelf += max(0, g.Dur()-g.Inner)
		if g.FirstGroup {
			s.host += g.Dur()
		}
		s.own[int32(r.Index)] += 0
		if in := w.marks.Texts[g.Text].Inputs; in != "" {
			s.inputs[in]++
		}
		if mod.Layer >= 0 && g.FirstLayer {
			s := sumsAt(w.layers, layerKey{k, mod.Layer})
			s.calls++
			s.host += g.Dur()
			s.own[int32(r.Index)] += 0
		}
		if !mod.Scope && (g.Parent < 0 || w.marks.Modules[r.Ranges[g.Parent].Module].Scope) {
			at(w.totals, k).InRange += g.Dur()
		}
	}
}

// LayerTime is a layer's GPU time per step on one rank, without waiting: the median over steps.
type LayerTime struct {
	Layer int32
	NS    float64
}

// OfKind returns the times of all layers in the steps of one kind on one rank, grouped by Like. Step 0 of a capture, in
// which the profilers start, is left out if there are others.
func (w *LayerWork) OfKind(r *match.Rank, k trace.StepKind) (like map[string][]LayerTime, steps int) {
	like = map[string][]LayerTime{}
	var use []int
	for i := range r.Steps {
		if r.Steps[i].Info.Kind == k {
			use = append(use, i)
		}
	}
	if len(use) > 1 && use[0]+r.First == 0 {
		use = use[1:]
	}
	for layer, by := range w.steps[r.Index] {
		var ns []int64
		for _, i := range use {
			ns = append(ns, by[i])
		}
		if len(ns) > 0 {
			key := w.marks.Layers[layer].Like
			like[key] = append(like[key], LayerTime{layer, metric.MedianInPlace(ns)})
		}
	}
	for _, l := range like {
		sorts.By(l, func(x, y LayerTime) int { return cmp.Compare(x.Layer, y.Layer) })
	}
	return like, len(use)
}

// Kinds returns the kinds of steps that rank r made.
func (w *LayerWork) Kinds(r *match.Rank) (out []trace.StepKind) {
	for k := range w.ranks[r.Index] {
		if k != prep.OutsideSteps {
			out = append(out, k)
		}
	}
	return out
}

// Has reports whether a rank did any work in a layer.
func (w *LayerWork) Has(r *match.Rank, layer int32) bool { return w.steps[r.Index][layer] != nil }

// OwnTimes returns the times of the layers, in ns.
func OwnTimes(l []LayerTime) []float64 {
	out := make([]float64, len(l))
	for i := range l {
		out[i] = l[i].NS
	}
	return out
}

// ofLike compares each layer with the layers of equal Like, and keeps the result of the rank on which the layer
// compares worst.
func (w *LayerWork) ofLike(rows []result.LayerRow, ranks []*match.Rank) {
	type key struct {
		kind, stack string
		layer       int
	}
	at := map[key]*result.LayerRow{}
	for i := range rows {
		at[key{rows[i].Kind, rows[i].Stack, rows[i].Layer}] = &rows[i]
	}
	for _, r := range ranks {
		for _, k := range w.Kinds(r) {
			like, _ := w.OfKind(r, k)
			for _, l := range like {
				mid := metric.Median(OwnTimes(l))
				if len(l) < 2 || mid <= 0 {
					continue
				}
				for _, x := range l {
					of := &w.marks.Layers[x.Layer]
					if row := at[key{prep.KindName(k), of.Stack, of.N}]; row != nil {
						row.OfLike = max(row.OfLike, x.NS/mid)
					}
				}
			}
		}
	}
}

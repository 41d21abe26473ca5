package tables

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// layerSums are what one row is made of, over all steps and ranks.
type layerSums struct {
	gpu, self, wait, host, hostSelf int64
	kernels, calls                  int
	class                           [kernel.Memset + 1]int64
	flops                           float64
	timed                           int64           // ns of the kernels that flops are of
	inputs                          map[string]int  // calls by inputs
	own                             map[int32]int64 // GPU time without waiting, by rank
}

type layerKey struct {
	kind trace.StepKind
	at   int32 // in groups, or layers
}

// layerTotals are the denominators: of one rank, by step kind.
type layerTotals struct {
	steps     int
	gpu, host int64
}

// layerWork adds up ranges and the work they launched.
type LayerWork struct {
	marks   *prep.Markers
	modules map[layerKey]*layerSums
	layers  map[layerKey]*layerSums
	Ranks   []map[trace.StepKind]*layerTotals
	totals  map[trace.StepKind]*result.LayerTotal // sums
	Steps   []map[int32][]int64                   // by rank: own time of a layer in each step
}

func sumsAt(in map[layerKey]*layerSums, k layerKey) *layerSums {
	s := in[k]
	if s == nil {
		s = &layerSums{inputs: map[string]int{}, own: map[int32]int64{}}
		in[k] = s
	}
	return s
}

// layerTables is the layer-wise view, and what it was made of; nil without markers.
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

// add takes in one rank: first its ranges, on the host, then what they launched.
func (w *LayerWork) add(r *match.Rank) {
	own := map[trace.StepKind]*layerTotals{}
	for i := range r.Steps {
		t := at(own, r.Steps[i].Info.Kind)
		t.steps++
		t.host += r.Steps[i].End - r.Steps[i].Start
	}
	at(own, prep.OutsideSteps).steps = 1
	bySteps := map[int32][]int64{}
	w.Ranks, w.Steps = append(w.Ranks, own), append(w.Steps, bySteps)
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
		in := r.RangeAt(o)
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
					bySteps[mod.Layer][o.Step] += o.End - o.Start - r.Wait[i]
				}
			}
		}
		if inModule {
			total.InModule += o.End - o.Start
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
	s.own[int32(r.Index)] += dur - r.Wait[i]
	if o.Cat == trace.Kernel {
		s.kernels++
	}
}

// addHost takes in the ranges of one rank.
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

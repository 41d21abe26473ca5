package explain

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
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
type layerWork struct {
	marks   *markers
	modules map[layerKey]*layerSums
	layers  map[layerKey]*layerSums
	ranks   []map[trace.StepKind]*layerTotals
	totals  map[trace.StepKind]*LayerTotal // sums
	steps   []map[int32][]int64            // by rank: own time of a layer in each step
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
func layerTables(a *aligned) (out Layers, w *layerWork) {
	if a.marks == nil {
		return out, nil
	}
	w = &layerWork{marks: a.marks, modules: map[layerKey]*layerSums{}, layers: map[layerKey]*layerSums{}, totals: map[trace.StepKind]*LayerTotal{}}
	for _, r := range a.ranks {
		w.add(r)
	}
	w.rows(&out, a.hostOnly)
	w.ofLike(out.Layers, a.ranks)
	return out, w
}

// add takes in one rank: first its ranges, on the host, then what they launched.
func (w *layerWork) add(r *ranked) {
	own := map[trace.StepKind]*layerTotals{}
	for i := range r.steps {
		t := at(own, r.steps[i].info.Kind)
		t.steps++
		t.host += r.steps[i].end - r.steps[i].start
	}
	at(own, outsideSteps).steps = 1
	bySteps := map[int32][]int64{}
	w.ranks, w.steps = append(w.ranks, own), append(w.steps, bySteps)
	w.addHost(r)
	timed := make([]bool, len(r.ranges))
	for i := range r.ops {
		o := &r.ops[i]
		k := r.kindAt(o.step)
		at(own, k).gpu += o.end - o.start
		total := at(w.totals, k)
		total.GPU += o.end - o.start
		if r.inGraph(o) {
			total.Graphs += o.end - o.start
		}
		in := r.rangeAt(o)
		if in < 0 {
			continue
		}
		g := &r.ranges[in]
		self := sumsAt(w.modules, layerKey{k, w.marks.modules[g.module].group})
		self.self += o.end - o.start
		if text := &w.marks.texts[g.text]; text.flops > 0 && (o.class == kernel.GEMM || o.class == kernel.MoEGEMM) {
			self.timed += o.end - o.start
			if !timed[in] {
				timed[in] = true
				self.flops += text.flops
			}
		}
		inModule := false
		for ; in >= 0; in = g.parent {
			g = &r.ranges[in]
			mod := &w.marks.modules[g.module]
			inModule = inModule || !mod.scope
			if g.firstGroup {
				w.addOp(sumsAt(w.modules, layerKey{k, mod.group}), r, i)
			}
			if mod.layer >= 0 && g.firstLayer {
				w.addOp(sumsAt(w.layers, layerKey{k, mod.layer}), r, i)
				if o.step >= 0 {
					if bySteps[mod.layer] == nil {
						bySteps[mod.layer] = make([]int64, len(r.steps))
					}
					bySteps[mod.layer][o.step] += o.end - o.start - r.wait[i]
				}
			}
		}
		if inModule {
			total.InModule += o.end - o.start
		}
	}
	for k, t := range own {
		if total := at(w.totals, k); t.steps > 0 {
			total.Steps += t.steps
			total.Host += t.host
		}
	}
}

func (w *layerWork) addOp(s *layerSums, r *ranked, i int) {
	o := &r.ops[i]
	dur := o.end - o.start
	s.gpu += dur
	s.wait += r.wait[i]
	s.class[o.class] += dur
	s.own[int32(r.index)] += dur - r.wait[i]
	if o.cat == trace.Kernel {
		s.kernels++
	}
}

// addHost takes in the ranges of one rank.
func (w *layerWork) addHost(r *ranked) {
	for i := range r.ranges {
		g := &r.ranges[i]
		k := r.kindAt(g.step)
		mod := &w.marks.modules[g.module]
		s := sumsAt(w.modules, layerKey{k, mod.group})
		s.calls++
		s.hostSelf += max(0, g.dur()-g.inner)
		if g.firstGroup {
			s.host += g.dur()
		}
		s.own[int32(r.index)] += 0
		if in := w.marks.texts[g.text].inputs; in != "" {
			s.inputs[in]++
		}
		if mod.layer >= 0 && g.firstLayer {
			s := sumsAt(w.layers, layerKey{k, mod.layer})
			s.calls++
			s.host += g.dur()
			s.own[int32(r.index)] += 0
		}
		if !mod.scope && (g.parent < 0 || w.marks.modules[r.ranges[g.parent].module].scope) {
			at(w.totals, k).InRange += g.dur()
		}
	}
}

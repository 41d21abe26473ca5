package explain

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Layers is the layer-wise view: GPU work by the range that launched it. All
// lists are empty without layer-wise markers. Figures are means over the steps
// of a kind and the ranks that have the layer; outside of steps they are sums
// over the window, the mean over ranks.
type Layers struct {
	Totals  []LayerTotal `json:"totals"`
	Layers  []LayerRow   `json:"layers"`  // by step kind, stack, number
	Modules []ModuleRow  `json:"modules"` // by step kind, then GPU time
}

// LayerTotal says how much of the steps of one kind the markers cover.
type LayerTotal struct {
	Kind     string `json:"kind"`  // of steps, or outside
	Steps    int    `json:"steps"` // over all ranks
	GPU      int64  `json:"gpu_ns"`
	InModule int64  `json:"in_module_ns"` // of it, launched in a module's range
	Graphs   int64  `json:"in_graphs_ns"` // of it, replayed by graph launches, whose kernels have no ranges of their own
	Host     int64  `json:"host_ns"`      // length of the step on the host
	InRange  int64  `json:"host_in_module_ns"`
}

// LayerRow is one layer with all it holds.
type LayerRow struct {
	Kind     string  `json:"kind"`
	Stack    string  `json:"stack"` // the list of layers it is in: model.layers
	Layer    int     `json:"layer"`
	GPU      int64   `json:"gpu_ns"`
	Wait     int64   `json:"wait_ns"` // of it, waiting in collectives
	Share    float64 `json:"share"`   // of the summed GPU time of the step; of its host time if there is no GPU work
	Host     int64   `json:"host_ns"`
	Kernels  float64 `json:"kernels"`
	Calls    float64 `json:"calls"`
	Elements int64   `json:"parameters"` // elements, one rank's part
	// OfLike is its own GPU time (waiting left out) over the median of the layers
	// with the same modules and parameters; 0: there are none.
	OfLike  float64 `json:"of_like"`
	Spread  float64 `json:"rank_spread"`  // own time of the slowest rank over the fastest's, minus 1
	Slowest int     `json:"slowest_rank"` // -1: one rank
}

// ModuleRow is one module of a layer over all layers of a stack, or one module
// outside layers.
type ModuleRow struct {
	Kind     string  `json:"kind"`
	Stack    string  `json:"stack"`  // "" outside layers
	Module   string  `json:"module"` // mlp.down_proj; "" the layer itself
	Name     string  `json:"name"`   // both: model.layers.*.mlp.down_proj
	Scope    bool    `json:"scope"`  // a range of the pipeline around modules
	Modules  int     `json:"modules"`
	GPU      int64   `json:"gpu_ns"`
	Self     int64   `json:"self_ns"` // launched in no range inside it
	Wait     int64   `json:"wait_ns"`
	Share    float64 `json:"share"`
	Host     int64   `json:"host_ns"`
	HostSelf int64   `json:"host_self_ns"`
	Kernels  float64 `json:"kernels"`
	Calls    float64 `json:"calls"`
	Each     int64   `json:"each_ns"` // GPU time of one call; host time if there is no GPU work
	Class    string  `json:"class"`   // of the kernels that take most of its GPU time
	Elements int64   `json:"parameters"`
	Inputs   string  `json:"inputs"` // sizes, the most frequent; "" none
	Varied   int     `json:"input_variants"`
	Static   string  `json:"static"`
	TFLOPs   float64 `json:"tflop_s"` // of linear layers; 0: unknown
	Spread   float64 `json:"rank_spread"`
	Slowest  int     `json:"slowest_rank"`
}

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

// outsideSteps is the kind of what no step holds.
const outsideSteps = trace.StepKind(255)

func kindName(k trace.StepKind) string {
	if k == outsideSteps {
		return "outside"
	}
	return k.String()
}

func (r *rank) kindAt(step int32) trace.StepKind {
	if step < 0 {
		return outsideSteps
	}
	return r.steps[step].info.Kind
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

// layers fills the layer-wise view.
func (a *analyzer) layers() {
	if a.marks == nil {
		return
	}
	w := &layerWork{marks: a.marks, modules: map[layerKey]*layerSums{}, layers: map[layerKey]*layerSums{}, totals: map[trace.StepKind]*LayerTotal{}}
	for _, r := range a.ranks {
		w.add(r)
	}
	a.layerWork = w
	w.rows(&a.report.Layers, a.hostOnly)
	w.ofLike(a.report.Layers.Layers, a.ranks)
}

func (w *layerWork) totalOf(k trace.StepKind) *LayerTotal {
	t := w.totals[k]
	if t == nil {
		t = &LayerTotal{Kind: kindName(k)}
		w.totals[k] = t
	}
	return t
}

// add takes in one rank: first its ranges, on the host, then what they launched.
func (w *layerWork) add(r *rank) {
	own := map[trace.StepKind]*layerTotals{}
	of := func(k trace.StepKind) *layerTotals {
		t := own[k]
		if t == nil {
			t = &layerTotals{}
			own[k] = t
		}
		return t
	}
	for i := range r.steps {
		t := of(r.steps[i].info.Kind)
		t.steps++
		t.host += r.steps[i].end - r.steps[i].start
	}
	of(outsideSteps).steps = 1
	bySteps := map[int32][]int64{}
	w.ranks, w.steps = append(w.ranks, own), append(w.steps, bySteps)
	w.addHost(r)
	timed := make([]bool, len(r.ranges))
	for i := range r.ops {
		o := &r.ops[i]
		k := r.kindAt(o.step)
		of(k).gpu += o.end - o.start
		total := w.totalOf(k)
		total.GPU += o.end - o.start
		if trace.IsGraphLaunch(r.launchName(o)) {
			total.Graphs += o.end - o.start
		}
		at := r.rangeAt(o)
		if at < 0 {
			continue
		}
		g := &r.ranges[at]
		self := sumsAt(w.modules, layerKey{k, w.marks.modules[g.module].group})
		self.self += o.end - o.start
		if text := &w.marks.texts[g.text]; text.flops > 0 && (o.class == kernel.GEMM || o.class == kernel.MoEGEMM) {
			self.timed += o.end - o.start
			if !timed[at] {
				timed[at] = true
				self.flops += text.flops
			}
		}
		inModule := false
		for ; at >= 0; at = g.parent {
			g = &r.ranges[at]
			mod := &w.marks.modules[g.module]
			inModule = inModule || !mod.scope
			if g.firstGroup {
				w.addOp(sumsAt(w.modules, layerKey{k, mod.group}), r, o)
			}
			if mod.layer >= 0 && g.firstLayer {
				w.addOp(sumsAt(w.layers, layerKey{k, mod.layer}), r, o)
				if o.step >= 0 {
					if bySteps[mod.layer] == nil {
						bySteps[mod.layer] = make([]int64, len(r.steps))
					}
					bySteps[mod.layer][o.step] += o.end - o.start - o.wait
				}
			}
		}
		if inModule {
			total.InModule += o.end - o.start
		}
	}
	for k, t := range own {
		if total := w.totalOf(k); t.steps > 0 {
			total.Steps += t.steps
			total.Host += t.host
		}
	}
}

func (w *layerWork) addOp(s *layerSums, r *rank, o *op) {
	dur := o.end - o.start
	s.gpu += dur
	s.wait += o.wait
	s.class[o.class] += dur
	s.own[int32(r.index)] += dur - o.wait
	if r.t.Spans[o.span].Cat == trace.Kernel {
		s.kernels++
	}
}

// addHost takes in the ranges of one rank.
func (w *layerWork) addHost(r *rank) {
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
			w.totalOf(k).InRange += g.dur()
		}
	}
}

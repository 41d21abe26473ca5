package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Layers is the layer-wise view: GPU work by the range in which it was launched. All lists are empty if neither markers
// nor anything else identifies layers. Figures are means over the steps of a kind and over the ranks that have the
// layer. For work outside of steps, figures are sums over the window, averaged over ranks.
type Layers struct {
	Totals  []LayerTotal `json:"totals"`
	Layers  []LayerRow   `json:"layers"`  // ordered by step kind, stack and number
	Modules []ModuleRow  `json:"modules"` // ordered by step kind, then GPU time
	// Graphs reports, for each kind of step, whether the layers of replayed graphs were found. It is set if layers were
	// requested.
	Graphs []GraphLayers `json:"graphs"`
}

// Methods by which the layers of replayed graphs are found.
const (
	GraphsAligned = "alignment" // alignment with a forward pass launched kernel by kernel
	GraphsMotif   = "motif"     // repeating sequence of kernels
	GraphsNode    = "node"      // number of the graph's node, whose layer is known from other replays
)

// GraphLayers reports how reliably layers were assigned to the kernels of graph replays in steps of one kind.
type GraphLayers struct {
	Kind    string    `json:"kind"`
	Steps   int       `json:"steps"`   // number of steps, over all ranks
	Kernels int       `json:"kernels"` // number of kernels and copies in these steps, up to the last replayed one
	By      string    `json:"by"`
	Covered float64   `json:"covered"` // share of Kernels with a known place, in a layer or in none
	Unsure  float64   `json:"unsure"`  // share of Kernels that may be in several layers
	Known   bool      `json:"known"`   // enough kernels are covered, so the report assigns them to layers
	Why     fact.Fact `json:"why"`     // reason if not Known
}

// LayerTotal gives the share of steps of one kind that the markers cover.
type LayerTotal struct {
	Kind     string `json:"kind"`  // kind of the steps, or "outside"
	Steps    int    `json:"steps"` // number of steps, over all ranks
	GPU      int64  `json:"gpu_ns"`
	InModule int64  `json:"in_module_ns"`        // part of GPU time launched in a module's range
	Graphs   int64  `json:"in_graphs_ns"`        // part of GPU time in replayed graphs, whose kernels have no ranges
	Placed   int64  `json:"in_graphs_placed_ns"` // part of Graphs that was assigned to modules; see Layers.Graphs
	Host     int64  `json:"host_ns"`             // length of the step on the host
	InRange  int64  `json:"host_in_module_ns"`
}

// LayerRow is one layer, with all work in it.
type LayerRow struct {
	Kind     string  `json:"kind"`
	Stack    string  `json:"stack"` // list that contains the layer, such as model.layers
	Layer    int     `json:"layer"`
	GPU      int64   `json:"gpu_ns"`
	Wait     int64   `json:"wait_ns"` // part of the GPU time spent waiting in collectives
	Share    float64 `json:"share"`   // share of the step's summed GPU time or, without GPU work, of its host time
	Host     int64   `json:"host_ns"`
	Kernels  float64 `json:"kernels"`
	Calls    float64 `json:"calls"`
	Elements int64   `json:"parameters"` // number of parameter elements on one rank
	// OfLike is the layer's own GPU time (without waiting) divided by the median of the layers with the same modules
	// and parameters; 0: there are no such layers.
	OfLike  float64 `json:"of_like"`
	Spread  float64 `json:"rank_spread"`  // own time of the slowest rank divided by that of the fastest, minus 1
	Slowest int     `json:"slowest_rank"` // -1: only one rank has the layer
}

// ModuleRow sums up one module of a layer over all layers of a stack, or one module outside layers.
type ModuleRow struct {
	Kind     string  `json:"kind"`
	Stack    string  `json:"stack"`  // "": outside layers
	Module   string  `json:"module"` // path inside the layer, such as mlp.down_proj; "": the layer itself
	Name     string  `json:"name"`   // Stack and Module, as in model.layers.*.mlp.down_proj
	Scope    bool    `json:"scope"`  // not a module, but a range of the pipeline that encloses modules
	Modules  int     `json:"modules"`
	GPU      int64   `json:"gpu_ns"`
	Self     int64   `json:"self_ns"` // work launched directly in this range, not in a nested one
	Wait     int64   `json:"wait_ns"`
	Share    float64 `json:"share"`
	Host     int64   `json:"host_ns"`
	HostSelf int64   `json:"host_self_ns"`
	Kernels  float64 `json:"kernels"`
	Calls    float64 `json:"calls"`
	Each     int64   `json:"each_ns"` // GPU time of one call or, without GPU work, host time
	Class    string  `json:"class"`   // class of kernels with the largest GPU time
	Elements int64   `json:"parameters"`
	Inputs   string  `json:"inputs"` // most frequent sizes of the inputs; "": none
	Varied   int     `json:"input_variants"`
	Static   string  `json:"static"`
	TFLOPs   float64 `json:"tflop_s"` // rate of linear layers; 0: unknown
	Spread   float64 `json:"rank_spread"`
	Slowest  int     `json:"slowest_rank"`
}

package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Layers is the layer-wise view: GPU work by the range that launched it. All lists are empty if neither markers nor
// anything else identifies layers. Figures are means over the steps of a kind and the ranks that have the layer;
// outside of steps they are sums over the window, averaged over ranks.
type Layers struct {
	Totals  []LayerTotal `json:"totals"`
	Layers  []LayerRow   `json:"layers"`  // by step kind, stack, number
	Modules []ModuleRow  `json:"modules"` // by step kind, then GPU time
	// Graphs reports by step kind whether the layers of replayed graphs were found, if requested.
	Graphs []GraphLayers `json:"graphs"`
}

// How layers of replayed graphs were found.
const (
	GraphsAligned = "alignment" // alignment with a forward pass launched kernel by kernel
	GraphsMotif   = "motif"     // repeating sequence of kernels
	GraphsNode    = "node"      // node number, as in other replays of the graph
)

// GraphLayers reports how reliably layers were assigned to the kernels of graph replays in steps of one kind.
type GraphLayers struct {
	Kind    string    `json:"kind"`
	Steps   int       `json:"steps"`   // over all ranks
	Kernels int       `json:"kernels"` // kernels and copies of these steps, from the first to the last of a replay
	By      string    `json:"by"`
	Covered float64   `json:"covered"` // share of Kernels with a known place, in a layer or in none
	Unsure  float64   `json:"unsure"`  // share of Kernels that may be in several layers
	Known   bool      `json:"known"`   // enough are covered: the report assigns their layers
	Why     fact.Fact `json:"why"`     // why not Known
}

// LayerTotal is how much of the steps of one kind the markers cover.
type LayerTotal struct {
	Kind     string `json:"kind"`  // of steps, or outside
	Steps    int    `json:"steps"` // over all ranks
	GPU      int64  `json:"gpu_ns"`
	InModule int64  `json:"in_module_ns"`        // part of GPU launched in a module's range
	Graphs   int64  `json:"in_graphs_ns"`        // part of GPU replayed by graph launches, whose kernels have no ranges of their own
	Placed   int64  `json:"in_graphs_placed_ns"` // part of Graphs that was assigned to modules, see Layers.Graphs
	Host     int64  `json:"host_ns"`             // length of the step on the host
	InRange  int64  `json:"host_in_module_ns"`
}

// LayerRow is one layer with all its work.
type LayerRow struct {
	Kind     string  `json:"kind"`
	Stack    string  `json:"stack"` // list that holds the layer: model.layers
	Layer    int     `json:"layer"`
	GPU      int64   `json:"gpu_ns"`
	Wait     int64   `json:"wait_ns"` // part of GPU: waiting in collectives
	Share    float64 `json:"share"`   // of the summed GPU time of the step, or of its host time without GPU work
	Host     int64   `json:"host_ns"`
	Kernels  float64 `json:"kernels"`
	Calls    float64 `json:"calls"`
	Elements int64   `json:"parameters"` // elements on one rank
	// OfLike is its own GPU time (without waiting) over the median of the layers with the same modules and parameters;
	// 0: there are none.
	OfLike  float64 `json:"of_like"`
	Spread  float64 `json:"rank_spread"`  // own time of the slowest rank over the fastest's, minus 1
	Slowest int     `json:"slowest_rank"` // -1: one rank
}

// ModuleRow is one module of a layer over all layers of a stack, or one module outside layers.
type ModuleRow struct {
	Kind     string  `json:"kind"`
	Stack    string  `json:"stack"`  // "": outside layers
	Module   string  `json:"module"` // mlp.down_proj; "": the layer itself
	Name     string  `json:"name"`   // Stack and Module: model.layers.*.mlp.down_proj
	Scope    bool    `json:"scope"`  // a range of the pipeline around modules
	Modules  int     `json:"modules"`
	GPU      int64   `json:"gpu_ns"`
	Self     int64   `json:"self_ns"` // launched in no range inside this one
	Wait     int64   `json:"wait_ns"`
	Share    float64 `json:"share"`
	Host     int64   `json:"host_ns"`
	HostSelf int64   `json:"host_self_ns"`
	Kernels  float64 `json:"kernels"`
	Calls    float64 `json:"calls"`
	Each     int64   `json:"each_ns"` // GPU time of one call, or host time without GPU work
	Class    string  `json:"class"`   // class of the kernels with most of its GPU time
	Elements int64   `json:"parameters"`
	Inputs   string  `json:"inputs"` // most frequent sizes; "": none
	Varied   int     `json:"input_variants"`
	Static   string  `json:"static"`
	TFLOPs   float64 `json:"tflop_s"` // of linear layers; 0: unknown
	Spread   float64 `json:"rank_spread"`
	Slowest  int     `json:"slowest_rank"`
}

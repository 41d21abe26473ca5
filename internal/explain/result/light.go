package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// Light compares steps with the least time in which their device could do the work ("speed of light"). Without the
// model's configuration, or if it does not fit, it has only the measured parts of the steps.
type Light struct {
	Model  string `json:"model"`  // model_type of the configuration; "": not given
	Device string `json:"device"` // name in the table of devices; "": unknown
	Layout string `json:"layout"` // division of the model among ranks, such as "TP 2, EP 2"
	// Memory and BF16 are the peaks of the device in bytes/s and FLOP/s, Source is their source, and Sure is the
	// confidence in them: high, medium or low.
	Memory  float64       `json:"memory_bytes_per_s"`
	BF16    float64       `json:"bf16_flops_per_s"`
	Source  string        `json:"source"`
	Sure    string        `json:"confidence"`
	Steps   []LightStep   `json:"steps"`
	Modules []LightModule `json:"modules"`
	Changes []LightChange `json:"changes"` // the most valuable first
	// Untried lists what the model or its layout has that was not tried on a recorded window, such as MLA.
	Untried string    `json:"untried"`
	Why     fact.Fact `json:"why"` // reason if nothing can be compared
	// Contexts is the source of the lengths of contexts, and their sums. Cache is the number format of the KV cache.
	Contexts fact.Fact `json:"contexts"`
	Cache    fact.Fact `json:"kv_cache"`
}

// LightStep divides the device time of all steps of one kind on one rank into parts, from the floor to the whole. The
// parts from Floor to Idle add up to Total exactly.
type LightStep struct {
	Rank  string `json:"rank"`
	Kind  string `json:"kind"`
	Steps int    `json:"steps"`
	Told  int    `json:"told"` // number of steps whose kernels could be assigned to modules; the others count as Unpriced
	// Tokens is the number of new tokens, summed over steps. Rows is the number of rows that the kernels computed, which
	// is larger if a graph pads its batch.
	Tokens int   `json:"tokens"`
	Rows   int   `json:"rows"`
	Graph  bool  `json:"batch_of_graph"` // the names of the steps do not tell their batch: Tokens are those of the graph, with its padding
	Total  int64 `json:"total_ns"`

	Floor    int64 `json:"floor_ns"`    // least time of the modules below, at the peaks of the device
	Padding  int64 `json:"padding_ns"`  // floor of the rows that a graph adds to the batch
	Start    int64 `json:"start_ns"`    // what good kernels need beyond it
	Slow     int64 `json:"slow_ns"`     // what these kernels took beyond that
	Unpriced int64 `json:"unpriced_ns"` // compute without a known module
	Transfer int64 `json:"transfer_ns"`
	Wait     int64 `json:"wait_ns"` // for other ranks
	Unknown  int64 `json:"unrecorded_ns"`
	Copy     int64 `json:"copy_ns"`
	Idle     int64 `json:"idle_ns"`

	IdleBy Idle `json:"idle_by"` // parts of Idle
	// TransferFloor is the part of Transfer that the link to the other devices needs at its peak.
	TransferFloor int64 `json:"transfer_floor_ns"`
	// TransferStart is the part of Transfer beyond it that good collectives need.
	TransferStart int64 `json:"transfer_start_ns"`
	// Least is the floor of the told steps, with that of the modules that could not be told. TransferLeast is that of
	// their collectives, also of those under compute.
	Least         int64     `json:"least_ns"`
	TransferLeast int64     `json:"transfer_least_ns"`
	Why           fact.Fact `json:"why"` // reason if Told is less than Steps
}

// LightModule compares the kernels of one module with its floor. Sums cover all steps of the kind on the rank.
type LightModule struct {
	Rank   string  `json:"rank"`
	Kind   string  `json:"kind"`
	Module string  `json:"module"`
	Kernel string  `json:"kernel"` // its main kernel
	Calls  int     `json:"calls"`
	Median int64   `json:"median_ns"` // of the main kernel
	Time   int64   `json:"time_ns"`   // of all its kernels
	Floor  int64   `json:"floor_ns"`
	Attain int64   `json:"attainable_ns"`
	Bytes  float64 `json:"bytes"` // of one call
	FLOPs  float64 `json:"flops"` // of one call
	// OfPeak is the share of the device's peak (memory or FLOP/s, whichever limits the module) that the main kernel's
	// median reaches, OfAttainable the share of what good kernels reach. 0: unknown.
	OfPeak       float64 `json:"of_peak"`
	OfAttainable float64 `json:"of_attainable"`
	Compute      bool    `json:"compute_bound"`
	// OfPeakMost and OfAttainableMost are upper bounds of these shares for attention, whose contexts are known within
	// bounds; 0: none. OfPeak and OfAttainable are then lower bounds.
	OfPeakMost       float64 `json:"of_peak_most"`
	OfAttainableMost float64 `json:"of_attainable_most"`
	// Experts is true if the floor depends on the choice of experts. Floor is then that of tokens that choose at random, Low
	// and High those of the fewest and the most experts. For attention, Low and High are the floors of the shortest and the
	// longest contexts; High is 0 if they are not known.
	Experts bool  `json:"experts"`
	Low     int64 `json:"low_ns"`
	High    int64 `json:"high_ns"`
	AtLeast bool  `json:"at_least"` // Bytes and FLOPs are lower bounds: the lengths of the contexts are not known
	Grid    bool  `json:"grid"`     // the grids of the kernels agree with the sizes
	// Why is the reason if the module cannot be told. Floor, Attain and the shares are then 0.
	Why fact.Fact `json:"why"`
	At  Place     `json:"at"` // longest of the main kernels; Span is its name
}

// LightDiff compares a module, or another part of a step, in two windows of the same model. Times are means over steps and
// ranks. The rows of one kind of steps and one RowsA, without the whole step, add up to the whole step.
type LightDiff struct {
	Kind   string  `json:"kind"`
	Part   string  `json:"part"`   // module, another part of the step, or "step"
	RowsA  float64 `json:"a_rows"` // that the kernels compute in a step, mean
	RowsB  float64 `json:"b_rows"`
	StepsA int     `json:"a_steps"`
	StepsB int     `json:"b_steps"`
	Layers int     `json:"layers"` // number of layers with the part; 0: it is not in layers
	A      int64   `json:"a_ns"`
	B      int64   `json:"b_ns"`
	Floor  int64   `json:"floor_ns"` // of A; 0: none
	FloorB int64   `json:"floor_b_ns"`
	// Experts is true if the floor depends on the choice of experts. It is then that of tokens that choose at random.
	Experts bool `json:"experts"`
	// KernelsA and KernelsB are the main kernels, KernelA and KernelB the first of them; "": no kernel of its own.
	KernelA  string   `json:"kernel_a"`
	KernelB  string   `json:"kernel_b"`
	KernelsA []string `json:"kernels_a"`
	KernelsB []string `json:"kernels_b"`
	// SourcesA and SourcesB are the Python frames that launch most of these kernels; empty: not told.
	SourcesA []string `json:"sources_a"`
	SourcesB []string `json:"sources_b"`
}

// Kinds of LightChange.
const (
	ChangeSlow      = "slow"      // kernels that take longer than good kernels
	ChangeElsewhere = "elsewhere" // the same module is faster on another rank
	ChangeFusion    = "fusion"    // kernels that a fused kernel replaces
	ChangeOverlap   = "overlap"   // transfers that could run under compute
)

// LightChange is a change that may make steps of a kind faster.
type LightChange struct {
	Change  string   `json:"change"` // one of the constants above
	Kind    string   `json:"kind"`   // of steps
	Ranks   []string `json:"ranks"`  // ranks whose kernels change
	Modules []string `json:"modules"`
	Kernels []string `json:"kernels"` // names of the kernels that change or vanish
	Calls   int      `json:"calls"`   // of these kernels in a step, on a rank
	// Time is the time of a step, mean over these ranks, by which the kernels get shorter. Worth is the effect on the
	// steps: less if the time is hidden under other work.
	Time  int64       `json:"time_ns"`
	Worth Worth       `json:"worth"`
	Say   fact.Fact   `json:"text"`
	How   []fact.Fact `json:"next"` // how to bring it about; empty: no way is known
}

package result

// Sites reports for how many kernels the place in the program is known that launched them. Places are known only from
// recorded Python stacks.
type Sites struct {
	Stacks   bool `json:"stacks"`    // the window was recorded with Python stacks
	Kernels  int  `json:"kernels"`   // number of kernels and copies
	Told     int  `json:"told"`      // of these, number with a known place
	Carried  int  `json:"carried"`   // of Told, number with a place from another window
	InGraphs int  `json:"in_graphs"` // of the others, number that graphs replayed
	// Aligned reports, for each kind of step, how the kernels were aligned with the other window; empty: there is none.
	Aligned []GraphLayers `json:"aligned"`
}

// KernelSource is one place in the program that launches a kernel.
type KernelSource struct {
	Frame  string `json:"frame"`  // innermost Python frame of the engine
	Module string `json:"module"` // classes of the modules around it, outermost first
	Layers string `json:"layers"` // numbers of the layers, as in 0-27; "": outside layers
	Op     string `json:"op"`     // innermost CPU op
	Count  int    `json:"count"`
	Total  int64  `json:"total_ns"`
}

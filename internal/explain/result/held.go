package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// ReasonShared means that the device stalls inside kernels in the same way as a device that several processes share by
// time slices.
const ReasonShared = "shared"

// Held describes a device that stalls inside some kernels but runs all other kernels as fast as its peers.
type Held struct {
	Kernels int     `json:"kernels"`  // number of kernels with a stall
	Usual   int64   `json:"usual_ns"` // median length of these kernels
	Every   int64   `json:"every_ns"` // interval between stalls; 0: irregular
	Share   float64 `json:"share"`    // share of these kernels in the total excess of kernel time over the peers
	Rest    float64 `json:"rest"`     // time of all other kernels, relative to the peers
}

// Why returns the likely explanation of the stalls.
func (h *Held) Why() fact.Fact { return fact.Of("late_shared") }

// Proof returns how often and for how long the device stalls.
func (h *Held) Proof() fact.Fact {
	var every fact.Fact
	if h.Every > 0 {
		every = fact.Of("still_every", "ns", h.Every)
	}
	return fact.Of("held_up", "n", h.Kernels, "ns", h.Usual, "every", every, "share", h.Share, "rest", h.Rest)
}

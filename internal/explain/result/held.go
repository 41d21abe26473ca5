package result

import "github.com/stepscope/stepscope/internal/explain/fact"

// ReasonShared is that a device stands still within kernels, as one does that processes have in turns.
const ReasonShared = "shared"

// Held is how a device stands still within kernels while it runs all others as fast as its peers do.
type Held struct {
	Kernels int     `json:"kernels"`  // that were held up
	Usual   int64   `json:"usual_ns"` // the median of how long these took
	Every   int64   `json:"every_ns"` // from one to the next; 0: not regular
	Share   float64 `json:"share"`    // of what like kernels take longer than on the peers
	Rest    float64 `json:"rest"`     // how many times as long all others take
}

// Why says what that looks like.
func (h *Held) Why() fact.Fact { return fact.Of("late_shared") }

// Proof says how often and how long it does.
func (h *Held) Proof() fact.Fact {
	var every fact.Fact
	if h.Every > 0 {
		every = fact.Of("still_every", "ns", h.Every)
	}
	return fact.Of("held_up", "n", h.Kernels, "ns", h.Usual, "every", every, "share", h.Share, "rest", h.Rest)
}

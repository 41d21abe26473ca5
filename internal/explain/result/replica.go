package result

// Replica compares a data-parallel replica with the others of its server in steps of one kind. Replicas that share no
// collective do not wait for each other, so none of them is late; but one may have more work, or take longer for the
// same work.
type Replica struct {
	Name   string      `json:"name"`
	Kind   string      `json:"kind"`
	This   ReplicaSide `json:"this"`
	Others ReplicaSide `json:"others"`
	// Like is the time per step of the kernels that both sides run alike, by name and grid, relative to the others;
	// LikeKinds is how many kinds there are. 0: none.
	Like      float64 `json:"like"`
	LikeKinds int     `json:"like_kinds"`
	Held      *Held   `json:"held"` // nil: its device does not stall inside kernels, or that does not explain everything
	// Cause is why a step takes longer: a straggler cause, CauseLoad, or "" if it does not.
	Cause   string          `json:"cause"`
	Kernels []ReplicaKernel `json:"kernels"` // those that make the difference on the device, the largest first
}

// Longer returns the length of a step relative to the others'.
func (r *Replica) Longer() float64 { return times(float64(r.This.Period), float64(r.Others.Period)) }

// Busier returns the number of requests or of tokens per step relative to the others', whichever is larger.
func (r *Replica) Busier() float64 {
	return max(times(r.This.Batch, r.Others.Batch), times(r.This.Tokens, r.Others.Tokens))
}

// LikeSlower reports whether its device runs kernels that both sides run alike at least 1.2 times as long, over at
// least three kinds.
func (r *Replica) LikeSlower() bool { return r.LikeKinds >= 3 && r.Like >= 1.2 }

// times returns a/b, or 1 if either is unknown.
func times(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 1
	}
	return a / b
}

// CauseLoad means that a replica has more requests, more tokens or longer contexts per step.
const CauseLoad = "load"

// ReplicaSide holds medians over the steps of one side. The first step of each window is left out because the profilers
// start in it.
type ReplicaSide struct {
	Steps   int     `json:"steps"`
	Batch   float64 `json:"batch"`     // requests; -1: unknown
	Tokens  float64 `json:"tokens"`    // -1: unknown
	Period  int64   `json:"period_ns"` // without the time in which a software device had no core
	Device  int64   `json:"device_ns"` // its kernels, without communication
	Host    int64   `json:"host_ns"`   // the rest of Period: the device waits for the host
	Kernels float64 `json:"kernels"`
}

// ReplicaKernel is the kernels of one name, per step.
type ReplicaKernel struct {
	Short       string  `json:"short"`
	Count       float64 `json:"count"`
	CountOthers float64 `json:"count_others"`
	NS          int64   `json:"ns"`
	NSOthers    int64   `json:"ns_others"`
}

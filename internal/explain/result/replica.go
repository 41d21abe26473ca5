package result

// Replica compares a data-parallel replica with the other replicas of the server, in steps of one kind. Replicas that
// share no collective do not wait for each other, so none of them is late. But one replica may have more work than the
// others, or take longer for the same work.
type Replica struct {
	Name   string      `json:"name"`
	Kind   string      `json:"kind"`
	This   ReplicaSide `json:"this"`
	Others ReplicaSide `json:"others"`
	// Like is the time per step of the kernels that both sides run equally often, by name and grid, relative to the
	// other replicas. LikeKinds is the number of such kernels. 0: none.
	Like      float64 `json:"like"`
	LikeKinds int     `json:"like_kinds"`
	Held      *Held   `json:"held"` // nil: no stalls inside kernels, or they explain only a part
	// Cause is the reason that steps take longer: a straggler cause, CauseLoad, or "" if steps do not take longer.
	Cause   string          `json:"cause"`
	Kernels []ReplicaKernel `json:"kernels"` // kernels with the largest differences in device time, the largest first
}

// Longer returns the length of a step relative to the other replicas.
func (r *Replica) Longer() float64 { return times(float64(r.This.Period), float64(r.Others.Period)) }

// Busier returns the number of requests or of tokens per step relative to the other replicas, whichever ratio is
// larger.
func (r *Replica) Busier() float64 {
	return max(times(r.This.Batch, r.Others.Batch), times(r.This.Tokens, r.Others.Tokens))
}

// LikeSlower reports whether the kernels that both sides run equally often take at least 1.2 times as long on this
// replica, if there are at least three such kernels.
func (r *Replica) LikeSlower() bool { return r.LikeKinds >= 3 && r.Like >= 1.2 }

// times returns a/b, or 1 if a or b is unknown.
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
	Batch   float64 `json:"batch"`     // number of requests; number of new tokens; -1: unknown
	Tokens  float64 `json:"tokens"`    // -1: unknown
	Period  int64   `json:"period_ns"` // step period, less the time in which a software device had no core
	Device  int64   `json:"device_ns"` // time of the kernels, without communication
	Host    int64   `json:"host_ns"`   // the rest of Period, in which the device waits for the host
	Kernels float64 `json:"kernels"`
}

// ReplicaKernel sums up the kernels of one name, per step.
type ReplicaKernel struct {
	Short       string  `json:"short"`
	Count       float64 `json:"count"`
	CountOthers float64 `json:"count_others"`
	NS          int64   `json:"ns"`
	NSOthers    int64   `json:"ns_others"`
}

package result

// Replica sets a data-parallel replica against the others of its server in one kind of steps.
// Replicas that share no collective do not wait for each other, so that none of them is late;
// but one may have more work, or take longer for the same.
type Replica struct {
	Name   string      `json:"name"`
	Kind   string      `json:"kind"`
	This   ReplicaSide `json:"this"`
	Others ReplicaSide `json:"others"`
	// Like is how many times as long the kernels take, in a step, that both sides run alike, by name and grid
	// (LikeKinds of them); 0: there are none.
	Like      float64 `json:"like"`
	LikeKinds int     `json:"like_kinds"`
	Held      *Held   `json:"held"` // null: its device does not stand still within kernels, or that is not all there is
	// Cause is why a step takes longer: one of the causes of stragglers, CauseLoad, or "" if it
	// does not.
	Cause   string          `json:"cause"`
	Kernels []ReplicaKernel `json:"kernels"` // that make the difference on the device, the largest first
}

// Longer is how many times as long a step takes as on the others.
func (r *Replica) Longer() float64 { return times(float64(r.This.Period), float64(r.Others.Period)) }

// Busier is how many times as many requests are in a step, or as many tokens if that is more.
func (r *Replica) Busier() float64 {
	return max(times(r.This.Batch, r.Others.Batch), times(r.This.Tokens, r.Others.Tokens))
}

// LikeSlower tells whether its device takes longer for kernels that both sides run alike: 1.2 times as long at least, of
// three kinds or more.
func (r *Replica) LikeSlower() bool { return r.LikeKinds >= 3 && r.Like >= 1.2 }

// times is 1 where one of them is not known.
func times(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 1
	}
	return a / b
}

// CauseLoad is that a replica has more requests, tokens or longer contexts in a step.
const CauseLoad = "load"

// ReplicaSide is medians over the steps of one side: the first of each window is left out, for
// the profilers start in it.
type ReplicaSide struct {
	Steps   int     `json:"steps"`
	Batch   float64 `json:"batch"`     // requests; -1: not said
	Tokens  float64 `json:"tokens"`    // -1: not said
	Period  int64   `json:"period_ns"` // without the time in which a software device had no core
	Device  int64   `json:"device_ns"` // its kernels, without communication
	Host    int64   `json:"host_ns"`   // the rest of Period: the device waits for the host
	Kernels float64 `json:"kernels"`
}

// ReplicaKernel is the kernels of one name, in a step.
type ReplicaKernel struct {
	Short       string  `json:"short"`
	Count       float64 `json:"count"`
	CountOthers float64 `json:"count_others"`
	NS          int64   `json:"ns"`
	NSOthers    int64   `json:"ns_others"`
}

package kernel

import (
	"regexp"
	"strings"
)

// Operations of communication kernels.
const (
	AllReduce     = "AllReduce"
	AllGather     = "AllGather"
	ReduceScatter = "ReduceScatter"
	AllToAll      = "AllToAll"
	Broadcast     = "Broadcast"
	ReduceOp      = "Reduce"
	Gather        = "Gather"
	Scatter       = "Scatter"
	SendRecv      = "SendRecv"
	Barrier       = "Barrier"
	Dispatch      = "Dispatch" // expert parallelism: sends tokens to their experts
	Combine       = "Combine"  // expert parallelism: sends results back
	Generic       = "Generic"  // NCCL's generic kernel, for operations without a specialised kernel
	OtherComm     = "Other"    // communication with a name that does not give the operation
)

var (
	// ncclDevKernel_AllReduce_Sum_bf16_RING_LL, ncclSymkDevKernel_ReduceScatter_RailA2A_LsaLD_sum_f32,
	// ncclKernel_AllReduce_RING_LL_Sum_float: the word after Kernel_ is the operation, and later words are the
	// algorithm.
	ncclOp = regexp.MustCompile(`^nccl\w*?Kernel_([A-Z][A-Za-z]+)`)
	// ncclAllReduceRingLLKernel_sum_f32 (with a lower-case suffix), and names of other libraries: the operation is the
	// leftmost word that names one.
	anyOp = regexp.MustCompile(`(?i)all_?reduce|reduce_?scatter|all_?gather|all_?to_?all|a2a|broadcast|bcast|send_?recv|barrier` +
		`|dispatch|combine|cross_device_reduce|quick_?reduce`)
	// Userbuffers of Transformer Engine and TensorRT-LLM: a sum in place is an all-reduce, unless _rs or _ag marks it
	// as one of the two halves of an all-reduce.
	userBuffers    = regexp.MustCompile(`userbuffers_\w*?_sum_inplace_gpu_[a-z]+?(_rs|_ag)?(_|$)`)
	expertParallel = regexp.MustCompile(`(?i)dispatch|combine`)
)

// Collective returns the operation that a kernel of class Comm performs, where the class is determined by the built-in
// table. ok is false for kernels of other classes. Custom all-reduce kernels (cross_device_reduce, oneshot, lamport,
// quickreduce, …) are AllReduce.
func Collective(name string) (op string, ok bool) {
	if Classify(name, "") != Comm {
		return "", false
	}
	function := parseDecl(name).bare()
	if m := ncclOp.FindStringSubmatch(function); m != nil {
		return CollectiveArg(m[1]), true
	}
	if m := expertParallel.FindString(function); m != "" && !strings.Contains(strings.ToLower(function), "allreduce") {
		return CollectiveArg(m), true
	}
	if m := userBuffers.FindStringSubmatch(function); m != nil {
		return map[string]string{"": AllReduce, "_rs": ReduceScatter, "_ag": AllGather}[m[1]], true
	}
	if m := anyOp.FindString(function); m != "" {
		return CollectiveArg(m), true
	}
	if m := anyOp.FindString(name); m != "" {
		return CollectiveArg(m), true
	}
	return OtherComm, true
}

// CollectiveArg returns the operation for Kineto's "Collective name" argument ("allreduce", "_allgather_base",
// "reduce_scatter_tensor_coalesced", "all_to_allv", "send") or for a kernel's name.
func CollectiveArg(s string) string {
	w := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
	for _, p := range []struct{ prefix, op string }{
		{"allreduce", AllReduce}, {"crossdevicereduce", AllReduce}, {"quickreduce", AllReduce},
		{"allgather", AllGather}, {"reducescatter", ReduceScatter}, {"alltoall", AllToAll}, {"a2a", AllToAll},
		{"broadcast", Broadcast}, {"bcast", Broadcast}, {"reduce", ReduceOp}, {"gather", Gather}, {"scatter", Scatter},
		{"send", SendRecv}, {"recv", SendRecv}, {"pointtopoint", SendRecv}, {"barrier", Barrier},
		{"dispatch", Dispatch}, {"combine", Combine}, {"generic", Generic},
	} {
		if strings.HasPrefix(w, p.prefix) {
			return p.op
		}
	}
	return OtherComm
}

// Synchronising reports whether an operation cannot finish on any rank before it has begun on the last rank. The time
// of a rank before the last rank begins is then waiting. Synchronising operations are all-reduce (including custom
// ones), all-gather, reduce-scatter, all-to-all and barrier. All other operations are not synchronising. These are
// operations in which only some ranks or only the root wait, kernels that are one half of an exchange (DeepEP's
// low-latency dispatch and combine), and unknown operations. An all-to-all with empty splits does not synchronise
// either, but only its arguments show this, not its name.
func Synchronising(op string) bool {
	switch op {
	case AllReduce, AllGather, ReduceScatter, AllToAll, Barrier:
		return true
	}
	return false
}

// BusFactor is the ratio of bus bandwidth to algorithm bandwidth (bytes over time). Bus bandwidth can be compared with
// the speed of the link for any number of ranks n. Bandwidths refer to the bytes of the whole buffer, which is the
// output of an all-gather and the input of other operations. Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md. The factor
// is 0 for a group of one rank, which transfers nothing, and 1 for operations without a formula.
func BusFactor(op string, n int) float64 {
	if n <= 1 {
		return 0
	}
	part := float64(n-1) / float64(n)
	switch op {
	case AllReduce:
		return 2 * part
	case AllGather, ReduceScatter, AllToAll:
		return part
	}
	return 1
}

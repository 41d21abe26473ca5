// Package kernel derives properties of a device operation from its name. The properties are its class, the collective
// that it performs, a short name for human readers, and a normal form for matching kernels between two captures. For
// operators with recorded shapes, the package also computes FLOPs and bytes.
//
// Names are as the profilers write them: demangled C++, Triton function names, generated names (such as those of
// cuBLAS's nvjet and cuDNN), and plain words for copies. Call the functions of this package once per distinct name
// (thousands per capture), not once per event.
package kernel

// Class is the kind of work that a device operation does.
type Class uint8

const (
	Other           Class = iota // matches no rule
	Attention                    // softmax attention, and the preparation and merging of its splits
	LinearAttention              // linear attention and state-space models
	KVCache                      // writing, moving and indexing the KV cache
	MoEGEMM                      // grouped matrix multiplication of experts
	MoERouting                   // choosing experts, and sorting tokens by expert and back
	GEMM                         // dense matrix multiplication and convolution
	Norm                         // RMSNorm, LayerNorm and their kin
	Rope                         // rotary position embedding
	Activation                   // SiLU, GELU and gated forms
	Quantize                     // conversion to and from narrow types with scales
	Sampling                     // logits to tokens
	Embedding                    // gathers and scatters by index
	Reduce                       // reductions, scans, sorts
	Elementwise                  // all other pointwise kernels
	Comm                         // collectives, custom all-reduce, expert-parallel exchange
	Copy                         // memory copies
	Memset                       // memory fills
)

var classNames = [...]string{
	Other: "other", Attention: "attention", LinearAttention: "linear_attention", KVCache: "kv_cache",
	MoEGEMM: "moe_gemm", MoERouting: "moe_routing", GEMM: "gemm", Norm: "norm", Rope: "rope",
	Activation: "activation", Quantize: "quantize", Sampling: "sampling", Embedding: "embedding", Reduce: "reduce",
	Elementwise: "elementwise", Comm: "comm", Copy: "copy", Memset: "memset",
}

// String returns the name used in rule files, such as "moe_gemm".
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[Other]
}

// ParseClass returns the class with the given name.
func ParseClass(name string) (Class, bool) {
	for c, n := range classNames {
		if n == name {
			return Class(c), true
		}
	}
	return Other, false
}

// Group is a set of classes that reports show together.
type Group string

const (
	GroupAttention     Group = "attention"     // Attention, LinearAttention, KVCache
	GroupGEMM          Group = "GEMM"          // GEMM
	GroupMoE           Group = "MoE"           // MoEGEMM, MoERouting
	GroupNorm          Group = "norm"          // Norm
	GroupElementwise   Group = "elementwise"   // Rope, Activation, Quantize, Embedding, Reduce, Elementwise
	GroupCommunication Group = "communication" // Comm
	GroupCopy          Group = "copy"          // Copy, Memset
	GroupSampling      Group = "sampling"      // Sampling
	GroupOther         Group = "other"         // Other
)

// Groups lists all groups in the order in which a report shows them.
func Groups() []Group {
	return []Group{GroupAttention, GroupGEMM, GroupMoE, GroupNorm, GroupElementwise, GroupCommunication, GroupCopy,
		GroupSampling, GroupOther}
}

// Group returns the group of a class; the constants above list the classes of each group.
func (c Class) Group() Group {
	switch c {
	case Attention, LinearAttention, KVCache:
		return GroupAttention
	case GEMM:
		return GroupGEMM
	case MoEGEMM, MoERouting:
		return GroupMoE
	case Norm:
		return GroupNorm
	case Rope, Activation, Quantize, Embedding, Reduce, Elementwise:
		return GroupElementwise
	case Comm:
		return GroupCommunication
	case Copy, Memset:
		return GroupCopy
	case Sampling:
		return GroupSampling
	}
	return GroupOther
}

// DataDependent reports whether the time of the kernels of class c depends on the data and not only on the grid. This
// is true of grouped matrix products, which run persistent grids, and of attention, whose time depends on the context
// lengths.
func DataDependent(c Class) bool {
	switch c {
	case MoEGEMM, MoERouting, Attention, LinearAttention:
		return true
	}
	return false
}

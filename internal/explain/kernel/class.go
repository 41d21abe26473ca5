// Package kernel derives the nature of a device operation from its name: its class, the collective it performs, a short
// form for people, and a normal form for matching two captures. For operators with recorded shapes it also computes the
// arithmetic and the bytes.
//
// Names are as written by the profilers: demangled C++, Triton function names, generated names such as cuBLAS's nvjet
// and cuDNN's, and plain words for copies. Functions of this package are called once per distinct name (thousands per
// capture), never once per event.
package kernel

// Class is the kind of work a device operation does.
type Class uint8

const (
	Other           Class = iota // matches no rule
	Attention                    // softmax attention, and the preparation and merging of its splits
	LinearAttention              // linear attention and state-space models
	KVCache                      // writing, moving and indexing the KV cache
	MoEGEMM                      // grouped matrix multiplication of experts
	MoERouting                   // choosing experts, sorting tokens to them and back
	GEMM                         // dense matrix multiplication and convolution
	Norm                         // RMSNorm, LayerNorm and their kin
	Rope                         // rotary position embedding
	Activation                   // SiLU, GELU and gated forms
	Quantize                     // conversion to and from narrow types with scales
	Sampling                     // logits to tokens
	Embedding                    // gathers and scatters by index
	Reduce                       // reductions, scans, sorts
	Elementwise                  // the rest of the pointwise kernels
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

// ParseClass returns the class with a name.
func ParseClass(name string) (Class, bool) {
	for c, n := range classNames {
		if n == name {
			return Class(c), true
		}
	}
	return Other, false
}

// Group is a set of classes that reports show as one.
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

// DataDependent reports whether the time of a class's kernels depends on the data, not only on the grid: grouped matrix
// products run persistent grids, and attention time depends on the context lengths.
func DataDependent(c Class) bool {
	switch c {
	case MoEGEMM, MoERouting, Attention, LinearAttention:
		return true
	}
	return false
}

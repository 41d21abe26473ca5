package kernel

import (
	"regexp"
	"strings"
)

// fusedName matches the name that Inductor gives to a kernel: kind, joined names of ops, an optional hash, and a number.
var fusedName = regexp.MustCompile(`^triton_[a-z]+_fused(?:_(.*?))??(?:_[0-9a-f]{8,})?(?:_\d+)?$`)

// longOps are names of PyTorch's ops that consist of several words. Those that begin with an underscore are private ops.
var longOps = strings.Fields(`_to_copy _softmax _log_softmax _unsafe_view _unsafe_index _unsafe_index_put _scaled_mm
	_grouped_mm _scaled_grouped_mm _native_batch_norm_legit _local_scalar_dense _fused_rms_norm _fft_c2c _adaptive_avg_pool2d
	native_layer_norm native_group_norm native_dropout native_batch_norm rms_norm fused_add_rms_norm silu_and_mul
	rotary_embedding index_put index_select index_add index_copy masked_fill masked_scatter masked_select new_zeros
	new_ones new_empty new_full zeros_like ones_like empty_like full_like rand_like randn_like constant_pad_nd
	split_with_sizes slice_scatter select_scatter as_strided as_strided_scatter scatter_add scatter_reduce logical_not
	logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift
	bitwise_right_shift floor_divide true_divide max_pool2d_with_indices avg_pool2d upsample_nearest2d
	upsample_bilinear2d convert_element_type scalar_tensor clamp_min clamp_max lift_fresh_copy leaky_relu
	repeat_interleave broadcast_in_dim scaled_dot_product_attention embedding_dense_backward view_as_complex
	view_as_real one_hot log_sigmoid_forward count_nonzero permute_copy view_copy`)

// Fused returns the ops that Inductor names in the name of a kernel. It returns an empty list for other kernels.
func Fused(name string) []string {
	ops := []string{}
	m := fusedName.FindStringSubmatch(name)
	if m == nil {
		return ops
	}
	for rest := m[1]; rest != ""; {
		op := firstOp(rest)
		if rest = rest[len(op):]; strings.HasPrefix(rest, "__") && longOp(rest[1:]) == "" || rest == "_" {
			op, rest = op+"_", rest[1:] // an op in place, such as copy_
		}
		ops, rest = append(ops, op), strings.TrimPrefix(rest, "_")
	}
	return ops
}

// firstOp returns the op with which joined names begin: the longest known one, or else the first word.
func firstOp(names string) string {
	if op := longOp(names); op != "" {
		return op
	}
	word, _, _ := strings.Cut(names[1:], "_")
	return names[:1+len(word)]
}

// longOp returns the longest known op with which joined names begin; "": none.
func longOp(names string) (op string) {
	for _, long := range longOps {
		rest, ok := strings.CutPrefix(names, long)
		if ok && (rest == "" || rest[0] == '_') && len(long) > len(op) {
			op = long
		}
	}
	return op
}

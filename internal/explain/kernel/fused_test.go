package kernel

import (
	"strings"
	"testing"
)

// TestFused divides names of Inductor into ops.
func TestFused(t *testing.T) {
	for name, want := range map[string]string{
		"triton_per_fused_copy__mul_sum_0":                                                 "copy_ mul sum",
		"triton_poi_fused_add_mul_3":                                                       "add mul",
		"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0":                               "_to_copy add mean mul pow rsqrt",
		"triton_poi_fused__to_copy_add_bitwise_and_bitwise_not_bitwise_or_ge_lt_mul_sub_1": "_to_copy add bitwise_and bitwise_not bitwise_or ge lt mul sub",
		"triton_per_fused__softmax__to_copy_masked_fill_12":                                "_softmax _to_copy masked_fill",
		"triton_poi_fused_copy_":                                                           "copy_",
		"triton_poi_fused_copy__5":                                                         "copy_",
		"triton_poi_fused_index_put__slice_5f3c91d2ab_3":                                   "index_put_ slice",
		"triton_red_fused_2":                                                               "",
		"triton_poi_fused_clamp_clamp_min_0":                                               "clamp clamp_min",

		"_fwd_kernel":                                  "",
		"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT":       "",
		"void my_triton_poi_fused_add_0(float const*)": "",
	} {
		if got := strings.Join(Fused(name), " "); got != want {
			t.Errorf("%s: got ops %q, want %q", name, got, want)
		}
	}
}

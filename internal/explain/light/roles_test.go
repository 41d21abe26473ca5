package light

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// TestGridOf checks the grids of recorded kernels (SGLang on H200 and H100, a dense model and one of experts) against the
// sizes of their products, and against other sizes.
func TestGridOf(t *testing.T) {
	const reduce = "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true, false, false>"
	for _, c := range []struct {
		name    string
		grid    [3]int32
		rows, n int
		want    Witness
	}{
		{"nvjet_sm90_tst_64x16_64x16_4x1_v_bz_splitK_TNT", [3]int32{4, 24, 1}, 16, 3072, Agrees},
		{"nvjet_sm90_tst_64x8_64x16_1x2_h_bz_TNT", [3]int32{2, 64, 1}, 16, 4096, Agrees},
		{"nvjet_sm90_tst_128x16_64x11_4x1_v_bz_TNT", [3]int32{4, 24, 1}, 16, 12288, Agrees},
		{"nvjet_sm90_tst_64x16_64x16_2x1_v_bz_splitK_TNT", [3]int32{2, 64, 1}, 16, 4096, Agrees},
		{"nvjet_sm90_tst_64x16_64x16_4x1_v_bz_splitK_TNT", [3]int32{4, 27, 1}, 16, 2112, Agrees},
		{"nvjet_sm90_tst_64x8_64x16_1x4_h_bz_TNT", [3]int32{4, 1, 1}, 24, 64, Agrees},
		{"nvjet_sm90_tst_64x152_64x7_4x1_v_bz_TNT", [3]int32{4, 20, 1}, 152, 5120, Agrees},
		{reduce, [3]int32{96, 1, 1}, 16, 3072, Agrees},
		{reduce, [3]int32{96, 1, 1}, 2, 3072, Agrees},
		{reduce, [3]int32{66, 1, 1}, 16, 2112, Agrees},
		{"nvjet_sm90_tst_128x16_64x11_4x1_v_bz_TNT", [3]int32{4, 24, 1}, 16, 14336, Differs}, // of Llama-3.1-8B
		{"nvjet_sm90_tst_128x16_64x11_4x1_v_bz_TNT", [3]int32{4, 24, 1}, 16, 24576, Silent},  // one rank: more tiles than SMs
		{reduce, [3]int32{96, 1, 1}, 16, 6144, Differs},
		{"nvjet_sm90_tst_64x16_64x16_4x1_v_bz_TNT", [3]int32{4, 30, 1}, 16, 12288, Silent},
		{"nvjet_sm90_tst_192x160_64x4_1x2_h_bz_coopA_TNT", [3]int32{2, 66, 1}, 600, 12288, Silent},
		{"nvjet_x_99999999999999999999x16_1x1_2x1_splitK_T", [3]int32{4, 1, 1}, 16, 64, Silent},
		{"nvjet_sm90_tst_64x16_64x16_4x1_v_bz_splitK_TNT", [3]int32{4, 24, 1}, 16, 0, Silent},
		{"ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn", [3]int32{96, 1, 1}, 16, 3072, Silent},
	} {
		if got := GridOf(c.name, c.grid, c.rows, c.n, 132); got != c.want {
			t.Errorf("%s %v for %d rows of %d: got %d, want %d", c.name, c.grid, c.rows, c.n, got, c.want)
		}
	}
}

// stepOf returns kernels from texts NAME:CLASS.
func stepOf(text string) (out []Kernel) {
	for _, name := range strings.Fields(text) {
		at := strings.LastIndex(name, ":")
		k := Kernel{Name: name[:at]}
		k.Class, _ = kernel.ParseClass(name[at+1:])
		out = append(out, k)
	}
	return out
}

// TestPlaces checks the tasks of kernels by their order, and the refusals.
func TestPlaces(t *testing.T) {
	dense := &Model{Layers: 2, Sparse: make([]bool, 2)}
	experts := &Model{Layers: 1, Sparse: []bool{true}, Experts: 4}
	const layer = " n:norm g:gemm cublasLt::splitKreduce:gemm n:norm r:rope k:kv_cache a:attention combine:attention g:gemm cross_device_reduce:comm n:norm g:gemm s:activation g:gemm cross_device_reduce:comm"
	for _, c := range []struct {
		name, step string
		m          *Model
		want       string // roles, or the key of the reason
	}{
		{"two layers", "prepare:attention e:embedding cross_device_reduce:comm" + layer + layer + " n:norm g:gemm ncclAllGather:comm x:other", dense,
			"–, embedding, all-reduce, input norm 0, qkv_proj 0, qkv_proj 0, q/k norm 0, rope 0, KV write 0, attention 0, attention 0, o_proj 0, all-reduce 0, post-attention norm 0, gate_up_proj 0, activation 0, down_proj 0, all-reduce 0, " +
				"input norm 1, qkv_proj 1, qkv_proj 1, q/k norm 1, rope 1, KV write 1, attention 1, attention 1, o_proj 1, all-reduce 1, post-attention norm 1, gate_up_proj 1, activation 1, down_proj 1, all-reduce 1, final norm 2, lm_head 2, all-gather 2, –"},
		{"experts", "n:norm g:gemm a:attention g:gemm n:norm g:gemm top:moe_routing m:moe_gemm s:activation m:moe_gemm sum:reduce n:norm g:gemm", experts,
			"input norm 0, qkv_proj 0, attention 0, o_proj 0, post-attention norm 0, router 0, routing 0, experts gate_up 0, activation 0, experts down 0, sum of experts 0, final norm 1, lm_head 1"},
		{"one layer", layer + " n:norm g:gemm", dense, "light_layers"},
		{"no head", layer, dense, "light_layers"},
		{"three layers", layer + layer + layer + " n:norm g:gemm", dense, "light_more"},
		{"one more MLP", layer + " g:gemm g:gemm" + layer + " g:gemm", dense, "light_order"},
		{"experts for a dense model", "g:gemm a:attention g:gemm m:moe_gemm", dense, "light_order"},
		{"shared experts", layer, &Model{Shared: 4}, "light_shared"},
	} {
		places, why := c.m.Places(stepOf(c.step))
		var got []string
		for _, p := range places {
			text := string(p.Role)
			if p.Role == Unknown {
				text = "–"
			} else if p.Layer >= 0 {
				text += " " + string(rune('0'+p.Layer))
			}
			got = append(got, text)
		}
		text := strings.Join(got, ", ")
		if places == nil {
			text = why.Key
		}
		if text != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, text, c.want)
		}
	}
}

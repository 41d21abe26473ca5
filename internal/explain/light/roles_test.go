package light

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
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

// stepOf returns kernels from texts NAME:CLASS or NAME:CLASS@STREAM.
func stepOf(text string) (out []Kernel) {
	for _, name := range strings.Fields(text) {
		at := strings.LastIndex(name, ":")
		k := Kernel{Name: name[:at]}
		class, stream, _ := strings.Cut(name[at+1:], "@")
		k.Class, _ = kernel.ParseClass(class)
		k.Track = trace.TrackID(len(stream))
		out = append(out, k)
	}
	return out
}

// TestPlaces checks the tasks of kernels by their order, and the refusals.
func TestPlaces(t *testing.T) {
	dense := &Model{Layers: 2, Sparse: make([]bool, 2)}
	experts := &Model{Layers: 1, Sparse: []bool{true}, Experts: 4}
	latent := &Model{Layers: 2, Sparse: []bool{false, true}, Experts: 4, Shared: 8, MLA: &MLA{Query: 1}}
	const shared = " n:norm g:gemm g:gemm g:gemm a:attention g:gemm g:gemm n:norm g:gemm s:activation g:gemm g:gemm top:moe_routing m:moe_gemm s:activation m:moe_gemm sum:reduce"
	const layer = " n:norm g:gemm cublasLt::splitKreduce:gemm n:norm r:rope k:kv_cache a:attention combine:attention g:gemm cross_device_reduce:comm n:norm g:gemm s:activation g:gemm cross_device_reduce:comm"
	for _, c := range []struct {
		name, step string
		kind       trace.StepKind
		m          *Model
		want       string // roles, or the key of the reason
	}{
		{"two layers", "prepare:attention e:embedding cross_device_reduce:comm" + layer + layer + " n:norm g:gemm ncclAllGather:comm x:other", trace.Decode, dense,
			"–, embedding, all-reduce, input norm 0, qkv_proj 0, qkv_proj 0, q/k norm 0, rope 0, KV write 0, attention 0, attention 0, o_proj 0, all-reduce 0, post-attention norm 0, gate_up_proj 0, activation 0, down_proj 0, all-reduce 0, " +
				"input norm 1, qkv_proj 1, qkv_proj 1, q/k norm 1, rope 1, KV write 1, attention 1, attention 1, o_proj 1, all-reduce 1, post-attention norm 1, gate_up_proj 1, activation 1, down_proj 1, all-reduce 1, final norm 2, lm_head 2, all-gather 2, –"},
		{"experts", "n:norm g:gemm a:attention g:gemm n:norm g:gemm top:moe_routing m:moe_gemm s:activation m:moe_gemm sum:reduce n:norm g:gemm", trace.Decode, experts,
			"input norm 0, qkv_proj 0, attention 0, o_proj 0, post-attention norm 0, router 0, routing 0, experts gate_up 0, activation 0, experts down 0, sum of experts 0, final norm 1, lm_head 1"},
		{"one layer", layer + " n:norm g:gemm", trace.Decode, dense, "light_layers"},
		{"no head", layer, trace.Decode, dense, "light_layers"},
		{"three layers", layer + layer + layer + " n:norm g:gemm", trace.Decode, dense, "light_more"},
		{"one more MLP", layer + " g:gemm g:gemm" + layer + " g:gemm", trace.Decode, dense, "light_order"},
		{"experts for a dense model", "g:gemm a:attention g:gemm m:moe_gemm", trace.Decode, dense, "light_order"},
		{"MLA decode", "n:norm g:gemm n:norm g:gemm g:gemm r:rope k:kv_cache a:attention g:gemm g:gemm n:norm g:gemm s:activation g:gemm" + shared + " n:norm g:gemm", trace.Decode, latent,
			"input norm 0, qkv_a_proj 0, q/k norm 0, q_b_proj 0, kv_b_proj of queries 0, rope 0, KV write 0, attention 0, kv_b_proj of values 0, o_proj 0, post-attention norm 0, gate_up_proj 0, activation 0, down_proj 0, " +
				"input norm 1, qkv_a_proj 1, q_b_proj 1, kv_b_proj of queries 1, attention 1, kv_b_proj of values 1, o_proj 1, post-attention norm 1, shared gate_up 1, activation 1, shared down 1, router 1, routing 1, experts gate_up 1, activation 1, experts down 1, sum of experts 1, final norm 2, lm_head 2"},
		{"MLA prefill, shared experts on another stream", "g:gemm g:gemm g:gemm a:attention g:gemm g:gemm s:activation g:gemm g:gemm g:gemm g:gemm a:attention g:gemm " +
			"g:gemm@2 g:gemm s:activation@2 top:moe_routing m:moe_gemm g:gemm@2 s:activation m:moe_gemm g:gemm", trace.Prefill, latent,
			"qkv_a_proj 0, q_b_proj 0, kv_b_proj 0, attention 0, o_proj 0, gate_up_proj 0, activation 0, down_proj 0, qkv_a_proj 1, q_b_proj 1, kv_b_proj 1, attention 1, o_proj 1, " +
				"shared gate_up 1, router 1, activation 1, routing 1, experts gate_up 1, shared down 1, activation 1, experts down 1, lm_head 2"},
		{"MLA, prefill and decode", "g:gemm", trace.Mixed, latent, "light_mla"},
		{"MLA, decode by the kernels of prefill", "g:gemm g:gemm g:gemm a:attention g:gemm g:gemm g:gemm", trace.Decode, latent, "light_layers"},
		{"shared experts among the others", "g:gemm g:gemm g:gemm a:attention g:gemm g:gemm g:gemm g:gemm g:gemm g:gemm a:attention g:gemm g:gemm g:gemm g:gemm m:moe_gemm m:moe_gemm g:gemm", trace.Prefill, latent, "light_shared"},
		{"a stage without a head", "g:gemm a:attention g:gemm g:gemm s:activation g:gemm ncclSendRecv:comm", trace.Decode, &Model{Layers: 1, Sparse: make([]bool, 1), Earlier: true, Later: true},
			"qkv_proj 0, attention 0, o_proj 0, gate_up_proj 0, activation 0, down_proj 0, send/receive 0"},
		{"a first stage with a head", layer + layer + " n:norm g:gemm", trace.Decode, &Model{Layers: 2, Sparse: make([]bool, 2), Earlier: true}, "light_more"},
	} {
		places, why := c.m.Places(stepOf(c.step), c.kind)
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

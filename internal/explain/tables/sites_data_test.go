package tables_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestSourcesData checks sources of kernels in captures of a real SGLang against rows that a short Python program
// computed from the files: launch by correlation id, then the frames of its thread that contain the launch.
func TestSourcesData(t *testing.T) {
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory of the shared captures")
	}
	type row struct {
		kernel string // beginning of the name, or of its last part
		result.KernelSource
	}
	source := func(count int, layers, module, frame, op string) result.KernelSource {
		return result.KernelSource{Count: count, Layers: layers, Module: module, Frame: frame, Op: op}
	}
	for _, c := range []struct {
		name, from            string // from: window of --source-from
		kernels, told, graphs int
		carried               int
		rows                  []row
	}{
		{"stacks", "", 696, 696, 0, 0, []row{
			{"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", source(16, "", "", "make_traces.py:42 mlp", "aten::mm")},
			{"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", source(16, "", "", "make_traces.py:33 attn", "aten::mm")},
			{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", source(64, "", "", "make_traces.py:54 forward", "record_param_comms")},
		}},
		{"sglang_stack", "", 1900, 454, 1446, 0, []row{
			{"_fwd_kernel", source(48, "", "Qwen3Model", "sglang/srt/layers/attention/triton_ops/extend_attention.py:560 extend_attention_fwd", "sglang::unified_attention_with_output")},
			{"create_flashinfer_kv_indices_triton", source(2, "", "", "sglang/srt/layers/attention/triton_backend.py:253 init_forward_metadata", "")},
		}},
		{"sglang_plain", "", 5904, 388, 5516, 0, nil},
		{"sglang_moe", "", 6821, 1453, 5368, 0, []row{
			{"fused_moe_kernel", source(64, "0-15", "Qwen3MoeDecoderLayer.Qwen3MoeSparseMoeBlock.FusedMoE", "sglang/srt/layers/moe/moe_runner/triton_utils/fused_moe_triton_kernels.py:702 invoke_fused_moe_kernel", "sglang::inplace_fused_experts")},
			{"nvjet_sm90_tst_64x40_64x16_1x2_h_bz_TNT", source(16, "0-15", "Qwen3MoeDecoderLayer.Qwen3MoeAttention.RowParallelLinear", "sglang/srt/layers/quantization/unquant.py:136 apply", "aten::mm")},
			{"ncclDevKernel_Reduce_Sum_bf16_RING_LL", source(32, "0-15", "Qwen3MoeDecoderLayer", "sglang/srt/distributed/device_communicators/pynccl_wrapper.py:553 ncclGroupEnd", "")},
		}},
		{"sglang17_hog", "", 11188, 2428, 8760, 0, []row{
			{"fused_qknorm_warp", source(48, "0-23", "Qwen3DecoderLayer.Qwen3Attention", "sglang/kernels/ops/layernorm/norm.py:113 fused_inplace_qknorm", "sglang::fused_inplace_qknorm")},
			{"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", source(48, "0-23", "Qwen3DecoderLayer.Qwen2MLP.MergedColumnParallelLinear", "sglang/srt/layers/quantization/unquant.py:205 apply", "aten::mm")},
		}},
		{"sglang17_sleep", "", 11264, 0, 7880, 0, nil}, // without stacks
		{"sglang17_dp_sleep", "sglang17_hog", 23908, 6250, 5112, 6250, []row{
			{"nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT", source(576, "0-23", "Qwen3DecoderLayer.Qwen2MLP.RowParallelLinear", "sglang/srt/layers/quantization/unquant.py:205 apply", "aten::mm")},
		}},
	} {
		t.Run(strings.TrimSpace(c.name+" "+c.from), func(t *testing.T) {
			opt := explain.Options{Quick: true}
			if c.from != "" {
				opt.SourcesFrom = explain.Prepare(explaintest.ReadDir(t, filepath.Join(data, "traces", c.from)), nil)
			}
			r, err := explain.Analyze(explaintest.ReadDir(t, filepath.Join(data, "traces", c.name)), opt)
			if err != nil {
				t.Fatal(err)
			}
			if s := r.Sites; s.Kernels != c.kernels || s.Told != c.told || s.InGraphs != c.graphs || s.Carried != c.carried {
				t.Errorf("got %+v, want %d of %d known, %d carried, %d in graphs", s, c.told, c.kernels, c.carried, c.graphs)
			}
			for _, want := range c.rows {
				i := slices.IndexFunc(r.Kernels, func(k result.KernelRow) bool { return k.Kind == "all" && strings.HasPrefix(k.Short, want.kernel) })
				if i < 0 {
					t.Errorf("no kernel %s", want.kernel)
					continue
				}
				if !slices.ContainsFunc(r.Kernels[i].Sources, func(s result.KernelSource) bool {
					s.Total = 0
					return s == want.KernelSource
				}) {
					t.Errorf("%s: got sources %+v, want %+v among them", want.kernel, r.Kernels[i].Sources, want.KernelSource)
				}
			}
			for _, k := range r.Kernels {
				sum := 0
				for _, s := range k.Sources {
					sum += s.Count
				}
				if sum > k.Count {
					t.Errorf("%s in %s steps: %d kernels have sources, of %d", k.Name, k.Kind, sum, k.Count)
				}
			}
		})
	}
}

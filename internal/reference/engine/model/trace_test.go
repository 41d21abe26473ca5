package model

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// events returns the names of a recording's events by category, in file order.
func events(t *testing.T, rec *device.Recording) map[string][]string {
	t.Helper()
	var b bytes.Buffer
	if err := rec.WriteKineto(&b, device.Meta{}); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct{ Cat, Name string }
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, e := range file.TraceEvents {
		got[e.Cat] = append(got[e.Cat], e.Name)
	}
	return got
}

// TestTrace checks that a step shows its layers, operations and kernels by the names that analyses look for, and that a
// replayed graph shows the same kernels.
func TestTrace(t *testing.T) {
	cfg := mustConfig(t, "qwen3-moe-tiny", `{"num_hidden_layers": 2, "mlp_only_layers": [1]}`)
	j := newJob(t, cfg, NewDummy(cfg, 1), layout{tp: 2, ep: 2}, Options{NumBlocks: 2, MaxTokens: 8, MaxSeqs: 2}, device.Options{})
	blocks := j.blocks(1)
	record := func(b *Batch) map[string][]string {
		d := j.ranks[1].dev
		if err := d.StartRecording(device.RecordOptions{CPU: true, GPU: true, Shapes: true}); err != nil {
			t.Fatal(err)
		}
		j.forward(t, b)
		return events(t, d.StopRecording())
	}
	prefill := record(&Batch{Seqs: []Seq{{Tokens: []int32{1, 2, 3}, Blocks: blocks}}})
	j.forward(t, &Batch{Mode: Decode, Seqs: []Seq{{Tokens: []int32{4}, Start: 3, Blocks: blocks}}}) // captures
	decode := record(&Batch{Mode: Decode, Seqs: []Seq{{Tokens: []int32{5}, Start: 4, Blocks: blocks}}})

	var layers []string
	for _, name := range prefill["user_annotation"] {
		if strings.HasPrefix(name, "model.layers.1") {
			layers = append(layers, name)
		}
	}
	want := []string{"model.layers.1", "model.layers.1.input_layernorm", "model.layers.1.self_attn",
		"model.layers.1.post_attention_layernorm", "model.layers.1.mlp"}
	slices.Sort(layers)
	slices.Sort(want)
	if !slices.Equal(layers, want) {
		t.Errorf("annotations of a layer: %q", layers)
	}

	attention := []string{"gemm_f32_f32_f32_tn_64x6", "qk_rmsnorm_kernel", "rotary_embedding_kernel", "store_kvcache_kernel",
		"paged_attention_prefill_kernel", "gemm_f32_f32_f32_tn_64x6", "all-reduce", "FusedAddRMSNormKernel"}
	var kernels []string
	kernels = append(kernels, "vocab_parallel_embedding_kernel", "all-reduce", "RMSNormKernel")
	kernels = append(kernels, attention...)
	kernels = append(kernels, "gemm_f32_f32_f32_tn_64x6", "topk_softmax_kernel", "moe_align_block_size_kernel",
		"moe_permute_kernel", "fused_moe_kernel", "act_and_mul_kernel_silu", "fused_moe_kernel", "moe_sum_reduce_kernel",
		"all-reduce", "FusedAddRMSNormKernel")
	kernels = append(kernels, attention...)
	kernels = append(kernels, "gemm_f32_f32_f32_tn_64x6", "act_and_mul_kernel_silu", "gemm_f32_f32_f32_tn_64x6", "all-reduce",
		"FusedAddRMSNormKernel", "index_select_kernel", "gemm_f32_f32_f32_tn_64x6", "all-gather", "CatArrayBatchedCopy")
	plain := func(names []string) (out []string) {
		for _, name := range names {
			switch low := strings.ToLower(name); {
			case strings.Contains(low, "allreduce"):
				name = "all-reduce"
			case strings.Contains(low, "allgather"):
				name = "all-gather"
			}
			out = append(out, name)
		}
		return out
	}
	if got := plain(prefill["kernel"]); !slices.Equal(got, kernels) {
		t.Errorf("kernels of a prefill:\ngot  %q\nwant %q", got, kernels)
	}
	for i, name := range kernels {
		kernels[i] = strings.Replace(name, "prefill", "decode", 1)
	}
	if got := plain(decode["kernel"]); !slices.Equal(got, kernels) {
		t.Errorf("kernels of a replayed decode:\ngot  %q\nwant %q", got, kernels)
	}
	if n := len(decode["gpu_memcpy"]); n != 1 {
		t.Errorf("a replayed decode has %d copies, want one", n)
	}
	if slices.Contains(decode["cuda_runtime"], "cudaLaunchKernel") || !slices.Contains(decode["cuda_runtime"], "cudaGraphLaunch") {
		t.Errorf("calls of a replayed decode: %q", decode["cuda_runtime"])
	}
}

package light

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// kernelOf is a kernel of each layer in a test.
type kernelOf struct {
	name  string
	class kernel.Class
	role  Role
}

// layered returns a comparer of one decode step with two layers of the given kernels, each 10 µs long, on one stream.
func layered(step string, m *Model, device string, l Layout, list []kernelOf) *comparer {
	d, _ := FindDevice(device)
	r := &match.Rank{Rank: &prep.Rank{Label: "TP00", Steps: []prep.Step{{Name: step, Info: trace.Step{Kind: trace.Decode, Batch: 16}}}}}
	key := stepKey{rank: "TP00", kind: "decode"}
	c := &comparer{a: &match.Aligned{Ranks: []*match.Rank{r}, Names: &prep.Names{}}, m: m, d: d, l: l, card: device, tasks: [][]task{nil},
		kinds: []stepKey{key}, steps: map[stepKey]*result.LightStep{key: {Rank: "TP00", Kind: "decode", Steps: 1, Told: 1, Rows: 16}}}
	for layer := range m.Layers {
		for _, k := range list {
			at := int64(len(r.Ops)) * 10_000
			name := slices.Index(c.a.Names.List, k.name)
			if name < 0 {
				name = len(c.a.Names.List)
				c.a.Names.List = append(c.a.Names.List, k.name)
			}
			r.Ops = append(r.Ops, prep.Op{Start: at, End: at + 10_000, Class: k.class, Name: int32(name)})
			c.tasks[0] = append(c.tasks[0], task{Place: Place{k.role, layer}, told: true})
		}
	}
	c.steps[key].Total = int64(len(r.Ops)) * 10_000
	return c
}

// TestFusions checks each pair of kernels that a server could fuse: the advice where the conditions hold, and none where
// the fused kernel runs, the server cannot fuse them, or other kernels stand between.
func TestFusions(t *testing.T) {
	const (
		sglangStep = "step[DECODE bs=16]"
		vllmStep   = "execute_context_0(0)_generation_16(16)"
		h100       = "NVIDIA H100 80GB HBM3"
		l4         = "NVIDIA L4"
		mi300      = "AMD Instinct MI300X"
	)
	dense := &Model{Family: "qwen3", Layers: 2, Hidden: 4096, HeadDim: 128, Weight: plain}
	llama := &Model{Family: "llama", Layers: 2, Hidden: 8192, HeadDim: 128, Weight: plain}
	moe := &Model{Family: "qwen3_moe", Layers: 2, Hidden: 2048, HeadDim: 128, TopK: 8, Weight: plain}
	int4 := &Model{Family: "qwen3_moe", Layers: 2, Hidden: 2048, HeadDim: 128, TopK: 8, Weight: Format{Bytes: 0.52}}
	two, one, dp := Layout{TP: 2, AttnTP: 2, EP: 1, MoETP: 2}, Layout{1, 1, 1, 1, 1}, Layout{TP: 2, AttnTP: 1, EP: 2, MoETP: 1}
	reduce, norm := kernelOf{"cross_device_reduce_1stage", kernel.Comm, AllReduce}, kernelOf{"FusedAddRMSNormKernel", kernel.Norm, NormPost}
	other := kernelOf{"other", kernel.Elementwise, Unknown}
	qk, rope, store := kernelOf{"fused_qknorm_warp", kernel.Norm, QKNorm}, kernelOf{"fused_rope_kernel", kernel.Rope, Rope}, kernelOf{"store_kvcache", kernel.KVCache, KVWrite}
	quant := kernelOf{"per_token_quant_fp8", kernel.Quantize, Unknown}
	act, attention := kernelOf{"act_and_mul_kernel", kernel.Activation, Act}, kernelOf{"flash_fwd_kernel", kernel.Attention, Attention}
	gemm, down, sum := kernelOf{"nvjet_splitK", kernel.GEMM, QKV}, kernelOf{"fused_moe_kernel", kernel.MoEGEMM, ExpertsOut}, kernelOf{"moe_sum_reduce", kernel.MoERouting, ExpertsSum}
	for name, c := range map[string]struct {
		step   string
		m      *Model
		device string
		l      Layout
		flags  map[string]any
		list   []kernelOf
		pair   string // "": no change
		how    string // "": none is known
	}{
		"all-reduce and norm":                  {sglangStep, dense, h100, two, nil, []kernelOf{reduce, norm}, "all-reduce and norm", "light_allreduce_sglang"},
		"all-reduce and norm, llama":           {sglangStep, llama, h100, two, nil, []kernelOf{reduce, norm}, "", ""},
		"all-reduce and norm, backend":         {sglangStep, dense, h100, two, map[string]any{"flashinfer_allreduce_fusion_backend": "auto", "enable_flashinfer_allreduce_fusion": false}, []kernelOf{reduce, norm}, "all-reduce and norm", "light_turned_on"},
		"all-reduce and norm, vLLM, too large": {vllmStep, &Model{Family: "llama", Layers: 2, Hidden: 65536}, h100, Layout{TP: 8, AttnTP: 8, EP: 1, MoETP: 8}, nil, []kernelOf{reduce, norm}, "", ""},
		"experts and their sum, int4":          {sglangStep, int4, h100, two, nil, []kernelOf{down, sum}, "", ""},
		"q/k norm and rope, AMD":               {sglangStep, moe, mi300, one, nil, []kernelOf{qk, rope}, "", ""},
		"all-reduce and norm, not told":        {sglangStep, dense, h100, two, nil, []kernelOf{reduce, other, norm}, "", ""},
		"all-reduce and norm, one kernel":      {sglangStep, dense, h100, two, nil, []kernelOf{reduce, norm, {"allreduce_fusion_kernel_oneshot_lamport", kernel.Comm, AllReduce}}, "", ""},
		"all-reduce and norm, older device":    {sglangStep, dense, l4, two, nil, []kernelOf{reduce, norm}, "", ""},
		"all-reduce and norm, DP attention":    {sglangStep, dense, h100, dp, nil, []kernelOf{reduce, norm}, "", ""},
		"all-reduce and norm, no server":       {"ProfilerStep#1", dense, h100, two, nil, []kernelOf{reduce, norm}, "", ""},
		"all-reduce and norm, turned on":       {sglangStep, dense, h100, two, map[string]any{"enable_flashinfer_allreduce_fusion": true}, []kernelOf{reduce, norm}, "all-reduce and norm", "light_turned_on"},
		"all-reduce and norm, turned off":      {sglangStep, dense, h100, two, map[string]any{"enforce_disable_flashinfer_allreduce_fusion": true}, []kernelOf{reduce, norm}, "all-reduce and norm", "light_turned_off"},
		"all-reduce and norm, AMD":             {sglangStep, dense, mi300, two, nil, []kernelOf{reduce, norm}, "all-reduce and norm", "light_allreduce_aiter"},
		"all-reduce and norm, vLLM":            {vllmStep, dense, h100, two, nil, []kernelOf{reduce, norm}, "all-reduce and norm", "light_allreduce_vllm"},
		"all-reduce and norm, vLLM on AMD":     {vllmStep, dense, mi300, two, nil, []kernelOf{reduce, norm}, "", ""},
		"add and norm":                         {sglangStep, dense, h100, one, nil, []kernelOf{{"vectorized_elementwise_kernel<add>", kernel.Elementwise, Unknown}, {"RMSNormKernel", kernel.Norm, NormIn}}, "add and norm", ""},
		"add and norm, fused elsewhere":        {sglangStep, dense, h100, one, nil, []kernelOf{{"FusedAddRMSNormKernel", kernel.Other, Unknown}, {"vectorized_elementwise_kernel<add>", kernel.Elementwise, Unknown}, {"RMSNormKernel", kernel.Norm, NormIn}}, "", ""},
		"SiLU and product":                     {sglangStep, dense, h100, one, nil, []kernelOf{{"silu_kernel", kernel.Activation, Act}, {"mul_kernel", kernel.Elementwise, Act}}, "SiLU and product", ""},
		"SiLU and product, one kernel":         {sglangStep, dense, h100, one, nil, []kernelOf{act, other}, "", ""},
		"q norm and k norm":                    {sglangStep, dense, h100, one, nil, []kernelOf{{"RMSNormKernel", kernel.Norm, QKNorm}, {"RMSNormKernel", kernel.Norm, QKNorm}}, "q norm and k norm", ""},
		"q norm and k norm, one kernel":        {sglangStep, dense, h100, one, nil, []kernelOf{qk, qk}, "", ""},
		"q/k norm and rope":                    {sglangStep, moe, h100, one, nil, []kernelOf{qk, rope}, "q/k norm and rope", "light_norm_rope_sglang"},
		"q/k norm and rope, dense":             {sglangStep, dense, h100, one, nil, []kernelOf{qk, rope}, "", ""},
		"q/k norm and rope, vLLM":              {vllmStep, moe, h100, one, nil, []kernelOf{qk, rope}, "", ""},
		"rope and KV write":                    {sglangStep, dense, h100, one, nil, []kernelOf{rope, store}, "rope and KV write", ""},
		"rope and KV write, one kernel":        {sglangStep, dense, h100, one, nil, []kernelOf{{"fused_rope_store_kernel", kernel.Rope, Rope}, store}, "", ""},
		"rope and KV write, vLLM":              {vllmStep, dense, h100, one, nil, []kernelOf{rope, store}, "", ""},
		"rope and KV write, vLLM on AMD":       {vllmStep, dense, mi300, one, nil, []kernelOf{rope, store}, "rope and KV write", "light_rope_vllm"},
		"norm and quantisation":                {vllmStep, dense, h100, one, nil, []kernelOf{{"rms_norm_kernel", kernel.Norm, NormIn}, quant}, "norm and quantisation", "light_norm_quant_vllm"},
		"norm and quantisation, SGLang":        {sglangStep, dense, h100, one, nil, []kernelOf{{"rms_norm_kernel", kernel.Norm, NormIn}, quant}, "", ""},
		"activation and quantisation":          {vllmStep, dense, h100, one, nil, []kernelOf{act, quant}, "activation and quantisation", "light_act_quant_vllm"},
		"activation and quantisation, SGLang":  {sglangStep, dense, h100, one, nil, []kernelOf{act, quant}, "", ""},
		"attention and quantisation":           {vllmStep, dense, h100, one, nil, []kernelOf{attention, quant}, "attention and quantisation", "light_attention_quant_vllm"},
		"attention and quantisation, SGLang":   {sglangStep, dense, h100, one, nil, []kernelOf{attention, quant}, "", ""},
		"experts and their sum":                {sglangStep, moe, h100, two, nil, []kernelOf{down, sum}, "experts and their sum", "light_sum_sglang"},
		"experts and their sum, EP":            {sglangStep, moe, h100, dp, nil, []kernelOf{down, sum}, "", ""},
		"experts and their sum, AMD":           {sglangStep, moe, mi300, two, nil, []kernelOf{down, sum}, "", ""},
		"experts and their sum, not Triton":    {sglangStep, moe, h100, two, nil, []kernelOf{{"cutlass_grouped", kernel.MoEGEMM, ExpertsOut}, sum}, "", ""},
		"product and its reduction":            {sglangStep, dense, h100, one, nil, []kernelOf{gemm, {"splitKreduce_kernel", kernel.GEMM, QKV}}, "product and its reduction", ""},
		"product alone":                        {sglangStep, dense, h100, one, nil, []kernelOf{gemm, gemm}, "", ""},
	} {
		x := layered(c.step, c.m, c.device, c.l, c.list)
		x.flags = c.flags
		list := x.fusions(x.stepsOf(trace.Decode))
		if c.pair == "" {
			if len(list) > 0 {
				t.Errorf("%s: %v", name, list[0].Say)
			}
			continue
		}
		at := slices.IndexFunc(list, func(x Change) bool { return x.Modules[0] == c.pair })
		if at < 0 {
			t.Errorf("%s: no change", name)
			continue
		}
		got := &list[at]
		how := ""
		if len(got.How) > 0 {
			how = got.How[0].Key
		}
		if how != c.how || got.Calls != c.m.Layers || got.LightChange.Time != int64(got.Calls)*10_000 {
			t.Errorf("%s: %q, %d calls, %d ns", name, how, got.Calls, got.LightChange.Time)
		}
		for op := range x.a.Ranks[0].Ops {
			if ns, ok := got.After(0, op); ok != (op%len(c.list) == slices.IndexFunc(c.list, func(k kernelOf) bool { return k.name == got.Kernels[0] })+extra(c.list, got.Kernels[0])) || ns != 0 {
				t.Errorf("%s: kernel %d: %d ns, %v", name, op, ns, ok)
			}
		}
	}
}

// extra returns 1 if the first of two equal kernels stays.
func extra(list []kernelOf, name string) int {
	n := 0
	for _, k := range list {
		if k.name == name {
			n++
		}
	}
	return max(n-1, 0)
}

package prep

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestFrames sorts names of Python frames.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name string
		want frame
	}{
		{"sglang/srt/layers/layernorm.py(204): forward_cuda", frame{frameEngine, "sglang/srt/layers/layernorm.py:204 forward_cuda", -1}},
		{"/opt/venv/lib/python3.12/site-packages/vllm/model_executor/layers/linear.py(80): apply", frame{frameEngine, "vllm/model_executor/layers/linear.py:80 apply", -1}},
		{"/sgl-workspace/sglang/python/sglang/srt/models/qwen3.py(10): forward", frame{frameEngine, "sglang/srt/models/qwen3.py:10 forward", -1}},
		{"model.py(33): attn", frame{frameEngine, "model.py:33 attn", -1}},
		{"/home/me/torch/model.py(33): attn", frame{frameEngine, "/home/me/torch/model.py:33 attn", -1}},
		{"sgl_kernel/elementwise.py(12): rmsnorm", frame{frameLibrary, "sgl_kernel/elementwise.py:12 rmsnorm", -1}},
		{"vllm/_custom_ops.py(350): rms_norm", frame{frameLibrary, "vllm/_custom_ops.py:350 rms_norm", -1}},
		{"vllm/vllm_flash_attn/flash_attn_interface.py(200): flash_attn_varlen_func", frame{frameLibrary, "vllm/vllm_flash_attn/flash_attn_interface.py:200 flash_attn_varlen_func", -1}},
		{"nn.Module: Qwen3DecoderLayer_17", frame{frameLayer, "Qwen3DecoderLayer", 17}},
		{"nn.Module: RMSNorm_3", frame{frameModule, "RMSNorm", -1}},

		{"nn.Module: GraphModule_0", frame{kind: frameIgnored}},
		{"torch/nn/modules/module.py(1776): _call_impl", frame{kind: frameIgnored}},
		{"/opt/venv/lib/python3.12/site-packages/torch/_ops.py(1243): __call__", frame{kind: frameIgnored}},
		{"triton/runtime/jit.py(370): <lambda>", frame{kind: frameIgnored}},
		{"sglang/srt/layers/parameter.py(90): __torch_function__", frame{kind: frameIgnored}},
		{"sglang/srt/compilation/piecewise_backend.py(60): __call__", frame{kind: frameIgnored}},
		{"vllm/compilation/cuda_graph.py(150): replay", frame{kind: frameIgnored}},
		{"/tmp/torchinductor_root/ab/cab.py(700): call", frame{kind: frameIgnored}},
		{"/usr/lib/python3.12/threading.py(1012): run", frame{kind: frameIgnored}},
		{"contextlib.py(78): inner", frame{kind: frameIgnored}},
		{"multiprocessing/process.py(108): run", frame{kind: frameIgnored}},
		{"<built-in method mm of type object at 0x7fe8ced3e180>", frame{kind: frameIgnored}},
		{"<string>(2): __init__", frame{kind: frameIgnored}},
	} {
		if got := frameOf(c.name); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestSites launches a kernel at 100 inside Python frames, modules and ops.
func TestSites(t *testing.T) {
	type around struct {
		cat        trace.Category
		name       string
		start, end int64
	}
	const python, op = trace.PythonFunction, trace.CPUOp
	engine := around{python, "sglang/srt/layers/linear.py(443): forward", 20, 180}
	for _, c := range []struct {
		name string
		in   []around
		want Site // zero: unknown
	}{
		{"a function", []around{engine}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Layer: -1}},
		{"an op called by functions that pass it on", []around{
			engine, {python, "torch/_ops.py(1243): __call__", 30, 170}, {python, "<built-in method mm of type object at 0x7f>", 40, 160},
			{op, "aten::linear", 50, 150}, {op, "aten::mm", 60, 140},
		}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Op: "aten::mm", Layer: -1}},
		{"modules of a layer", []around{
			{python, "nn.Module: Qwen3Model_0", 1, 199}, {python, "nn.Module: Qwen3DecoderLayer_7", 2, 198},
			{python, "nn.Module: Qwen3MLP_7", 3, 197}, {python, "nn.Module: RowParallelLinear_15", 4, 196}, engine,
		}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Module: "Qwen3DecoderLayer.Qwen3MLP.RowParallelLinear", Layer: 7}},
		{"a block inside a layer", []around{
			{python, "nn.Module: Qwen3MoeDecoderLayer_7", 2, 198}, {python, "nn.Module: Qwen3MoeSparseMoeBlock_5", 3, 197}, engine,
		}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Module: "Qwen3MoeDecoderLayer.Qwen3MoeSparseMoeBlock", Layer: 7}},
		{"modules outside of layers", []around{
			{python, "nn.Module: Qwen3Model_0", 1, 199}, {python, "nn.Module: OptimizedModule_0", 2, 198}, engine, {python, "nn.Module: RMSNorm_48", 30, 170},
		}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Module: "Qwen3Model.RMSNorm", Layer: -1}},
		{"a library called by the engine", []around{engine, {python, "flashinfer/norm.py(30): rmsnorm", 30, 170}}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Layer: -1}},
		{"a library alone", []around{{python, "flashinfer/norm.py(30): rmsnorm", 30, 170}}, Site{Frame: "flashinfer/norm.py:30 rmsnorm", Layer: -1}},
		{"functions that ended before", []around{engine, {python, "sglang/srt/layers/norm.py(5): forward", 30, 100}, {op, "aten::add", 30, 99}}, Site{Frame: "sglang/srt/layers/linear.py:443 forward", Layer: -1}},
		{"a function that ends after its caller", []around{{python, "sglang/srt/utils.py(5): late", 10, 90}, {python, "sglang/srt/utils.py(9): later", 80, 150}}, Site{}},
		{"only ops and wrappers", []around{{op, "aten::mm", 10, 190}, {python, "torch/_ops.py(1243): __call__", 20, 180}}, Site{}},
	} {
		y := toytrace.New()
		y.Span(python, 0, "sglang/srt/managers/scheduler.py(1): before", 0, 1) // a trace with Python stacks
		for _, x := range c.in {
			y.Span(x.cat, 0, x.name, x.start, x.end)
		}
		y.Run("kernel", 100, 300, 310, 1)
		r := Trace(y.Done(), nil)
		want := slices.DeleteFunc([]Site{c.want}, func(s Site) bool { return s == Site{} })
		if got := r.Names.Sites; !slices.Equal(got, want) || (r.SiteOf(0) < 0) != (len(want) == 0) {
			t.Errorf("%s: got sites %+v, the kernel's %d, want %+v", c.name, got, r.SiteOf(0), want)
		}
	}
}

// TestGraphHasNoSite: the launch of a graph is not the source of the kernels in it.
func TestGraphHasNoSite(t *testing.T) {
	y := toytrace.New()
	y.Span(trace.PythonFunction, 0, "sglang/srt/model_executor/cuda_graph_runner.py(900): replay", 50, 150)
	y.Op(trace.Kernel, "kernel", y.Launch("cudaGraphLaunch", 100, 110), 1, 200, 210, 1)
	y.Run("kernel", 120, 300, 310, 1)
	r := Trace(y.Done(), nil)
	if r.SiteOf(0) >= 0 || r.SiteOf(1) < 0 {
		t.Errorf("got sites %d and %d, want one for the second kernel only", r.SiteOf(0), r.SiteOf(1))
	}
	r.Carry(0, 0)
	if r.SiteOf(0) != 0 || !r.Carried(0) || r.Carried(1) {
		t.Errorf("got site %d for the replayed kernel, want that of another window", r.SiteOf(0))
	}
}

package prep

import (
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// TestWhyCold: frames, ops, calls and overhead that show first use, and others that occur at every use.
func TestWhyCold(t *testing.T) {
	for _, c := range []struct {
		cat        trace.Category
		name, want string
	}{
		{trace.PythonFunction, "triton/runtime/jit.py(826): _do_compile", ColdTriton},
		{trace.PythonFunction, "/venv/lib/python3.12/site-packages/triton/compiler/compiler.py(226): compile", ColdTriton},
		{trace.PythonFunction, "triton/runtime/autotuner.py(140): _bench", ColdTriton},
		{trace.PythonFunction, "triton/runtime/jit.py(695): run", ""},
		{trace.PythonFunction, "triton/compiler/compiler.py(473): run", ""},
		{trace.PythonFunction, "torch/_inductor/compile_fx.py(745): compile_fx_inner", ColdTorch},
		{trace.PythonFunction, "torch/_inductor/output_code.py(584): __call__", ""},
		{trace.PythonFunction, "torch/_inductor/runtime/triton_heuristics.py(1232): run", ""},
		{trace.PythonFunction, "torch/_inductor/runtime/triton_heuristics.py(320): precompile", ColdTorch},
		{trace.PythonFunction, "torch/compiler/__init__.py(482): is_exporting", ""},
		{trace.PythonFunction, "sglang/srt/layers/moe/utils.py(92): is_triton_kernels", ""},
		{trace.PythonFunction, "flashinfer/jit/core.py(281): build_and_load", ColdBuild},
		{trace.CPUOp, "backend_compile (dynamo_timed)", ColdTorch},
		{trace.CPUOp, "TorchDynamo Cache Lookup", ""},
		{trace.CPUOp, "cublasLtMatmulAlgoGetHeuristic", ColdHeuristics},
		{trace.CPUOp, "aten::mm", ""},
		{trace.Driver, "cuModuleLoadData", ColdLoad},
		{trace.Driver, "cuLibraryLoadData", ColdLoad},
		{trace.Runtime, "cudaLibraryLoadData", ColdLoad},
		{trace.Runtime, "hipModuleLoad", ColdLoad},
		{trace.Driver, "cuModuleGetFunction", ""},
		{trace.Runtime, "cudaMalloc", ColdAllocation},
		{trace.Runtime, "cudaMallocAsync", ""},
		{trace.Runtime, "cudaMallocFromPoolAsync", ""},
		{trace.Driver, "cuMemAlloc_v2", ColdAllocation},
		{trace.Driver, "cuMemAllocAsync", ""},
		{trace.Driver, "cuMemCreate", ColdAllocation},
		{trace.Runtime, "cudaLaunchKernel", ""},
		{trace.Overhead, "Driver Compiler", ColdLoad},
		{trace.Overhead, "RUNTIME_TRIGGERED_MODULE_LOADING", ColdLoad},
		{trace.Overhead, "Lazy Function Loading", ColdLoad},
		{trace.Overhead, "Command Buffer Full", ""},
		{trace.Overhead, "Instrumentation", ""},
		{trace.Overhead, "Activity Buffer Request", ""},
		{trace.Overhead, "CUDA profiling data flush overhead", ""}, // of nsys
	} {
		if got := whyCold(c.cat, c.name); got != c.want {
			t.Errorf("%s %q: got cause %q, want %q", c.cat, c.name, got, c.want)
		}
	}
}

package prep

import (
	"strconv"
	"strings"
)

// frame is a Python frame, by its name.
type frame struct {
	kind   frameKind
	text   string // file, line and function, or class of the module
	number int32  // of a layer
}

type frameKind uint8

// Kinds of Python frames.
const (
	frameUnknown frameKind = iota
	frameIgnored           // wrappers, and functions without a file
	frameEngine
	frameLibrary // of a package of kernels; it counts only if no frame is the engine's
	frameModule  // call of a module
	frameLayer   // call of a module that is a layer
)

func setOf(names string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(names) {
		out[name] = true
	}
	return out
}

var (
	// passing are functions that only pass a call on.
	passing = setOf("__call__ _call_impl _wrapped_call_impl __torch_function__ __torch_dispatch__")
	// wrappers are packages, and modules of Python, whose functions only pass calls on.
	wrappers = setOf(`torch triton tvm_ffi abc asyncio collections concurrent contextlib copy dataclasses enum functools
		importlib inspect json logging multiprocessing pickle queue re runpy selectors socket threading typing weakref`)
	// libraries are packages of kernels that engines call.
	libraries = setOf(`sgl_kernel flashinfer flash_attn flash_attn_interface flash_mla deep_gemm deep_ep aiter cutlass
		quack tilelang xformers einops numpy triton_kernels`)
)

// frameOf returns the frame with a name, as in torch/nn/modules/module.py(1776): _call_impl, or
// nn.Module: Qwen3DecoderLayer_17 for the call of a module, where the number counts the modules of one class.
func frameOf(name string) frame {
	if module, ok := strings.CutPrefix(name, "nn.Module: "); ok {
		return moduleOf(module)
	}
	path, rest, ok := strings.Cut(name, ".py(")
	line, function, ok2 := strings.Cut(rest, "): ")
	if !ok || !ok2 || passing[function] {
		return frame{kind: frameIgnored}
	}
	file := path
	if strings.HasPrefix(path, "/") {
		file = inPackage(path)
	}
	first, _, _ := strings.Cut(file, "/")
	text := file + ".py:" + line + " " + function
	switch {
	case wrappers[first], file == path && strings.Contains(path, "/lib/python3"), compiled(path):
		return frame{kind: frameIgnored}
	case libraries[first], strings.HasSuffix(path, "_ops"), strings.Contains(path, "/vllm_flash_attn/"), strings.Contains(path, "/third_party/"):
		return frame{frameLibrary, text, -1}
	}
	return frame{frameEngine, text, -1}
}

// moduleOf returns the frame of the call of a module, given by class and number.
func moduleOf(name string) frame {
	at := strings.LastIndexByte(name, '_')
	if at <= 0 {
		return frame{kind: frameIgnored}
	}
	class := name[:at]
	n, err := strconv.ParseInt(name[at+1:], 10, 32)
	switch {
	case err != nil, class == "OptimizedModule", class == "GraphModule": // the latter two are wrappers of torch.compile
		return frame{kind: frameIgnored}
	case strings.HasSuffix(class, "Layer"), strings.HasSuffix(class, "Block"):
		return frame{frameLayer, class, int32(n)}
	}
	return frame{frameModule, class, -1}
}

// inPackage returns the part of an absolute path that begins with a package, or the path if it has none.
func inPackage(path string) string {
	for _, dir := range [...]string{"/site-packages/", "/dist-packages/", "/python/"} {
		if at := strings.LastIndex(path, dir); at >= 0 {
			return path[at+len(dir):]
		}
	}
	return path
}

// compiled reports whether torch.compile generated a file, or whether the file only calls generated ones.
func compiled(path string) bool {
	for _, part := range [...]string{"torchinductor_", "inductor_cache", "torch_compile_cache", "torch_aot_compile", "/compilation/"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

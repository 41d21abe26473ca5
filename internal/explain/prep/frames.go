package prep

import (
	"regexp"
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

var (
	// frameName matches the name of a function, as in torch/nn/modules/module.py(1776): _call_impl.
	frameName = regexp.MustCompile(`^(.*\.py)\((\d+)\): (.*)$`)
	// moduleName matches the call of a module. The number counts the modules of one class.
	moduleName = regexp.MustCompile(`^nn\.Module: (\w+)_(\d+)$`)
	layerClass = regexp.MustCompile(`(?:Layer|Block)$`)
	// packages matches the path of a directory with packages, and stdlib that of Python's own modules.
	packages = regexp.MustCompile(`^.*/(?:site-packages|dist-packages|python)/`)
	stdlib   = regexp.MustCompile(`/lib/python3[^/]*/`)
	// compiled matches files that torch.compile generated, and the parts of engines that call them.
	compiled = regexp.MustCompile(`torchinductor_|inductor_cache|torch_compile_cache|torch_aot_compile|/compilation/`)
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

// frameOf returns the frame with a name.
func frameOf(name string) frame {
	if m := moduleName.FindStringSubmatch(name); m != nil {
		if m[1] == "OptimizedModule" || m[1] == "GraphModule" { // wrappers of torch.compile
			return frame{kind: frameIgnored}
		}
		n, err := strconv.ParseInt(m[2], 10, 32)
		if err == nil && layerClass.MatchString(m[1]) {
			return frame{frameLayer, m[1], int32(n)}
		}
		return frame{frameModule, m[1], -1}
	}
	m := frameName.FindStringSubmatch(name)
	if m == nil {
		return frame{kind: frameIgnored}
	}
	path, line, function := m[1], m[2], m[3]
	file := packages.ReplaceAllString(path, "")
	first, _, _ := strings.Cut(strings.TrimSuffix(file, ".py"), "/")
	text := file + ":" + line + " " + function
	switch {
	case wrappers[first], passing[function], file == path && stdlib.MatchString(path), compiled.MatchString(path):
		return frame{kind: frameIgnored}
	case libraries[first], strings.HasSuffix(path, "_ops.py"):
		return frame{frameLibrary, text, -1}
	}
	return frame{frameEngine, text, -1}
}

package redact

import (
	"path"
	"regexp"
	"strings"
)

// A path into a public package keeps the part within that package, because it locates code in SGLang, vLLM or PyTorch.
// Any other path becomes path-N with the file's extension.

// public lists packages whose file names may stay, regardless of the directory in which a package is installed.
var public = wordsOf(`torch sglang sgl_kernel sgl_kernel_npu vllm triton transformers flashinfer flash_attn flash_attn_interface deep_gemm deep_ep deepep xgrammar
	outlines_core outlines tokenizers safetensors huggingface_hub numpy einops torchvision torchaudio functorch torchgen accelerate diffusers xformers bitsandbytes
	compressed_tensors nvidia cutlass cuda cupy ray fastapi starlette uvicorn uvloop pydantic zmq msgspec orjson aiohttp httpx requests urllib3 anyio
	nvtx viztracer tqdm mooncake nixl lmcache aiter tilelang apache_tvm tvm tvm_ffi torch_memory_saver setproctitle
	typing_extensions packaging psutil scipy PIL transformer_engine modelopt torchao lm_eval`)

// stdlibDirs and stdlibFiles are the packages and modules of Python's standard library.
var (
	stdlibDirs  = wordsOf(`asyncio collections concurrent ctypes email encodings html http importlib json logging multiprocessing unittest urllib xml zoneinfo re sqlite3`)
	stdlibFiles = wordsOf(`abc argparse ast base64 bisect calendar codecs contextlib contextvars copy copyreg dataclasses datetime decimal dis enum fnmatch fractions
		functools genericpath getopt gettext glob gzip hashlib heapq hmac inspect io ipaddress keyword linecache locale numbers opcode operator os pathlib pickle
		pkgutil platform posixpath pprint queue random re reprlib runpy sched secrets selectors shlex shutil signal site socket socketserver ssl stat statistics
		string struct subprocess sysconfig tempfile textwrap threading timeit token tokenize traceback tracemalloc types typing uuid warnings weakref zipfile`)
)

func wordsOf(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var (
	installed = regexp.MustCompile(`^.*/(?:site-packages|dist-packages)/`)
	library   = regexp.MustCompile(`^(?:.*/)?python3(?:\.\d+)?/`)
	// checkout matches files of source checkouts, which are recognised by the folders of these projects.
	checkout = regexp.MustCompile(`^.*/((?:sglang/(?:srt|multimodal_gen|lang|jit_kernel|cli|test|launch_server\.py|bench_[a-z_]+\.py)` +
		`|vllm/(?:v1|engine|worker|model_executor|distributed|executor|attention|compilation|entrypoints|lora|multimodal|platforms|spec_decode|transformers_utils|utils|_custom_ops\.py|forward_context\.py)` +
		`|torch/(?:_dynamo|_inductor|_functorch|_higher_order_ops|_ops\.py|autograd|cuda|distributed|fx|jit|nn|profiler|utils)|at/native|aten/src)(?:/.*)?)$`)
	// plainPath limits the characters of a path that stays.
	plainPath = regexp.MustCompile(`^[\w.+/-]+$`)
	endings   = regexp.MustCompile(`^\.(?:py|pyc|so|json|cu|cuh|cc|cpp|h|hpp|c|safetensors|bin|pt|gz|txt|log|ttir|ptx|cubin)$`)
)

// tail returns the part of a path that may stay, or "".
func tail(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if !plainPath.MatchString(p) && !installed.MatchString(p) {
		return ""
	}
	if m := installed.FindString(p); m != "" {
		p = p[len(m):]
	} else if m := library.FindString(p); m != "" {
		p = p[len(m):]
	} else if m := checkout.FindStringSubmatch(p); m != nil {
		p = m[1]
		return p
	}
	if !plainPath.MatchString(p) || strings.HasPrefix(p, "/") || strings.Contains(p, "..") {
		return ""
	}
	first, _, below := strings.Cut(p, "/")
	if below && (public[first] || stdlibDirs[first]) || !below && (stdlibFiles[strings.TrimSuffix(first, ".py")] || public[strings.TrimSuffix(first, ".py")]) {
		return p
	}
	return ""
}

// file returns the redacted form of a path.
func (r *Redactor) file(p string) string {
	if t := tail(p); t != "" {
		return r.clean(t)
	}
	end := path.Ext(p)
	if !endings.MatchString(end) {
		end = ""
	}
	return r.instead(file, p) + end
}

// A Python frame is "FILE(LINE): FUNCTION", a builtin or a module call.
var (
	frameForm  = regexp.MustCompile(`^(.*)\((\d+)\): (.*)$`)
	frameOther = regexp.MustCompile(`^(?:<built-in (?:function|method) \w*(?: of [\w.]+(?: object)?(?: at 0x[0-9A-Fa-f]+)?)?>|nn\.Module: \w+|PyTorch Profiler \(\d+\)|<unknown>)$`)
	unsaved    = regexp.MustCompile(`^<(?:string|stdin|frozen [\w.]+|eval_with_key>\.\d+|__array_function__ internals|decorator-gen-\d+)>?$`)
	function   = regexp.MustCompile(`^(?:[\w.$]+|<(?:module|lambda|genexpr|listcomp|dictcomp|setcomp|locals)>|[\w.$]+\.<locals>\.[\w.<>$]+)$`)
)

func pythonFrame(r *Redactor, s string) string {
	m := frameForm.FindStringSubmatch(s)
	if m == nil {
		if frameOther.MatchString(s) {
			return r.clean(s)
		}
		return r.instead(frame, s)
	}
	where, name := m[1], m[3]
	if !unsaved.MatchString(where) {
		where = r.file(where)
	}
	if function.MatchString(name) {
		name = r.clean(name)
	} else {
		name = r.instead(frame, name)
	}
	return where + "(" + m[2] + "): " + name
}

// stack redacts a list of frames separated by ";".
func stack(r *Redactor, s string) string {
	frames := strings.Split(s, ";")
	for i, f := range frames {
		if f = strings.TrimSpace(f); f != "" {
			frames[i] = pythonFrame(r, f)
		}
	}
	return strings.Join(frames, ";")
}

package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// event redacts one event, given as JSON, and returns its text.
func event(t testing.TB, r *Redactor, raw string) string {
	t.Helper()
	var e chromejson.Event
	if !e.Reset([]byte(raw)) {
		t.Fatalf("not an event: %s", raw)
	}
	r.Event(&e)
	if !json.Valid(e.Raw) {
		t.Fatalf("%s\nbecame\n%s", raw, e.Raw)
	}
	return string(e.Raw)
}

// named returns the redacted name of a span.
func named(t *testing.T, r *Redactor, cat, name string) string {
	t.Helper()
	q, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Name string }
	if err := json.Unmarshal([]byte(event(t, r, fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %s}`, cat, q))), &e); err != nil {
		t.Fatal(err)
	}
	return e.Name
}

// TestNames lists names that stay (to is "=") and names that do not.
func TestNames(t *testing.T) {
	for _, c := range []struct{ cat, name, to string }{
		{"user_annotation", "step[DECODE bs=16]", "="},
		{"user_annotation", "step[EXTEND bs=16 toks=8192]", "="},
		{"user_annotation", "draft step[DECODE bs=1]", "="},
		{"user_annotation", "execute_context_2(6144)_generation_3(3)", "="},
		{"user_annotation", "decode[bs=4 tok=4 d=2.5]", "="},
		{"user_annotation", "decode[bs=4 tok=4 for alice]", "annotation-0"},
		{"user_annotation", "ProfilerStep#3", "="},
		{"user_annotation", "DECODE step 3", "="},
		{"user_annotation", "execute_context_1(sq5sk5sqsq25)_generation_0(sq0sk0)", "="},
		{"user_annotation", "nccl:all_reduce", "="},
		{"user_annotation", "NCCL:ncclAllReduce", "="},
		{"user_annotation", "model.layers.0.self_attn", "="},
		{"user_annotation", "transformer.layers.0.attention.to_q in=[[1, 4128, 3840]]", "="},
		{"user_annotation", "{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [4096, 14336]}, 'Inputs': [[7, 14336]]}", "="},
		{"user_annotation", "gpu_model_runner: forward", "="},
		{"user_annotation", "schedule: allocate_slots", "="},
		{"user_annotation", "llm_engine step: process_outputs", "="},
		{"user_annotation", "core: tell me about our merger", "annotation-0"},
		{"user_annotation", "denoising_step_0_t1000", "="},
		{"user_annotation", "denoising_step_49_t1.5e-05", "="},
		{"user_annotation", "Tell me about our merger with Acme", "annotation-0"},
		{"user_annotation", "acme-router", "annotation-0"},
		{"user_annotation", "host.acme.com", "annotation-0"},
		{"gpu_user_annotation", "acme-router", "annotation-0"},
		{"some tool", "acme-router", "annotation-0"},
		{"cpu_op", "aten::mm", "="},
		{"cpu_op", "Torch-Compiled Region: 0/1", "="},
		{"cpu_op", "sglang::moe_fused_gate", "="},
		{"cpu_op", "what alice asked", "op-0"},
		{"kernel", "void at::native::elementwise_kernel<128, 4, at::native::(anonymous namespace)::{lambda(int)#1}>(int)", "="},
		{"kernel", "k<(lambda at /home/alice/x/y.cu:12:3)>", "k<(lambda at path-0.cu:12:3)>"},
		{"kernel", "moe_token::dispatch<num_tokens=16>", "="},
		{"cuda_runtime", "cudaLaunchKernel", "="},
		{"cuda_runtime", "call of alice", "call-0"},
		{"overhead", "Waiting for a core", "="},
		{"overhead", "alice waits", "annotation-0"},
		{"Trace", "PyTorch Profiler (0)", "="},

		{"python_function", "torch/_ops.py(1257): __call__", "="},
		{"python_function", "threading.py(1012): run", "="},
		{"python_function", "<string>(1): <module>", "="},
		{"python_function", "nn.Module: LlamaAttention_3", "="},
		{"python_function", "<built-in method item of Tensor object at 0x7f00>", "="},
		{"python_function", "/usr/lib/python3.12/threading.py(1012): run", "threading.py(1012): run"},
		{"python_function", "/home/alice/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py(900): event_loop", "sglang/srt/managers/scheduler.py(900): event_loop"},
		{"python_function", "/sgl-workspace/sglang/python/sglang/srt/layers/linear.py(7): forward", "sglang/srt/layers/linear.py(7): forward"},
		{"python_function", "/data/vllm/vllm/v1/engine/core.py(7): step", "vllm/v1/engine/core.py(7): step"},
		{"python_function", "/opt/site-packages/acme_router/route.py(1): go", "path-0.py(1): go"},
		{"python_function", "/home/alice/sglang/acme/route.py(1): go", "path-0.py(1): go"},
		{"python_function", "/home/alice/my project/route.py(1): go", "path-0.py(1): go"},
		{"python_function", `C:\Users\alice\route.py(1): go`, "path-0.py(1): go"},
		{"python_function", "acme/route.py(1): <lambda>", "path-0.py(1): <lambda>"},
		{"python_function", "torch/_ops.py(1): for alice", "torch/_ops.py(1): frame-0"},
		{"python_function", "alice did it", "frame-0"},

		// Inside a name that stays.
		{"cpu_op", "op_hf_abcdefGHIJ", "op_secret-0"},
		{"cpu_op", "task-force", "="},
		{"kernel", "k sk-abcdefGHIJ", "k secret-0"},
		{"kernel", "k ghp_abcdefGHIJ", "k secret-0"},
		{"kernel", "k API_KEY=abcdef", "k API_KEY=secret-0"},
		{"kernel", "k https://u:p@acme.com/x", "k address-0"},
		{"kernel", "k alice@acme.com", "k address-0"},
		{"kernel", "k 10.1.2.3", "k address-0"},
		{"kernel", "alice_gemm<node17>", "user-0_gemm<host-0>"},
		{"kernel", "malice_node17b", "="},
	} {
		r := New(Options{Hosts: []string{"node17.acme.com"}, Users: []string{"alice", "root", "gemm"}})
		want := c.to
		if want == "=" {
			want = c.name
		}
		if got := named(t, r, c.cat, c.name); got != want {
			t.Errorf("%s %q: %q, want %q", c.cat, c.name, got, want)
		}
	}
	r := New(Options{KeepNames: true})
	if got := named(t, r, "user_annotation", "acme-router at /srv/a/b"); got != "acme-router at path-0" {
		t.Errorf("kept: %q", got)
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing to do", `{"ph": "X", "ts": 1.5, "args": {"External id": 7,"Input Dims": [[1, 2], []]}}`,
			`{"ph": "X", "ts": 1.5, "args": {"External id": 7,"Input Dims": [[1, 2], []]}}`},
		{"unknown members", `{"cname": "x", "ph": "X", "mine": {"a": [1, "}"]}, "args": {"prompt": "hi", "device": 0, "q\"": 1}}`,
			`{ "ph": "X", "args": { "device": 0}}`},
		{"ids of processes", `{"ph": "X", "pid": 4711, "tid": 4712}`, `{"ph": "X", "pid": 1000, "tid": 1001}`},
		{"ids of devices", `{"ph": "X", "pid": 3, "tid": 4712, "args": {"stream": 4712}}`, `{"ph": "X", "pid": 3, "tid": 4712, "args": {"stream": 4712}}`},
		{"of merged files", `{"ph": "X", "pid": "[TP00-DP01 DECODE] 4711", "tid": "Spans"}`, `{"ph": "X", "pid": "[TP00-DP01 DECODE] 1000", "tid": "Spans"}`},
		{"odd rows", `{"ph": "X", "pid": "[alice] 4711", "tid": "x"}`, `{"ph": "X", "pid": "row-0", "tid": "row-1"}`},
		{"process names", `{"ph": "M", "name": "process_name", "pid": 4711, "args": {"name": "python3"}}`, `{"ph": "M", "name": "process_name", "pid": 1000, "args": {"name": "python3"}}`},
		{"command lines", `{"ph": "M", "name": "process_name", "args": {"name": "serve --key x"}}`, `{"ph": "M", "name": "process_name", "args": {"name": "process-0"}}`},
		{"thread names", `{"ph": "M", "name": "thread_name", "pid": 4711, "args": {"name": "thread 4711 (serve x)"}}`,
			`{"ph": "M", "name": "thread_name", "pid": 1000, "args": {"name": "thread 1000 (process-0)"}}`},
		{"labels", `{"ph": "M", "name": "process_labels", "args": {"labels": "serve x"}}`, `{"ph": "M", "name": "process_labels", "args": {"labels": "row-0"}}`},
		{"sort of a process", `{"ph": "M", "name": "process_sort_index", "pid": 4711, "args": {"sort_index": 4711}}`,
			`{"ph": "M", "name": "process_sort_index", "pid": 1000, "args": {"sort_index": 1000}}`},
		{"sort of a device", `{"ph": "M", "name": "process_sort_index", "pid": 3, "args": {"sort_index": 5000003}}`,
			`{"ph": "M", "name": "process_sort_index", "pid": 3, "args": {"sort_index": 5000003}}`},
		{"requests", `{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=3]", "args": {"rids": "abc,x%2Cy,abc"}}`,
			`{"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=3]", "args": {"rids": "r0,r1,r0"}}`},
		{"inputs", `{"ph": "X", "args": {"Concrete Inputs": ["", "-1", "False", "[1, 2]", "model.layers.3.attn", "/models/acme", "hello"], "Input type": ["c10::BFloat16", "Scalar"]}}`,
			`{"ph": "X", "args": {"Concrete Inputs": ["", "-1", "False", "[1, 2]", "model.layers.3.attn", "", ""], "Input type": ["c10::BFloat16", "Scalar"]}}`},
		{"collectives", `{"ph": "X", "args": {"Collective name": "allreduce", "dtype": "BFloat16", "Process Group Name": "tp:0", "Process Group Ranks": "[0, 1, ...]", "In split size": "[]"}}`,
			`{"ph": "X", "args": {"Collective name": "allreduce", "dtype": "BFloat16", "Process Group Name": "tp:0", "Process Group Ranks": "[0, 1, ...]", "In split size": "[]"}}`},
		{"groups of people", `{"ph": "X", "args": {"Process Group Name": "the group of acme's merger"}}`, `{"ph": "X", "args": {"Process Group Name": "group-0"}}`},
		{"call stacks", `{"ph": "X", "args": {"Call stack": "/home/a/x.py(1): f;torch/_ops.py(2): g"}}`, `{"ph": "X", "args": {"Call stack": "path-0.py(1): f;torch/_ops.py(2): g"}}`},
		{"where numbers belong", `{"ph": "X", "args": {"bytes": "secret", "stream": {"a": 1}, "grid": ["x", 1], "finished": true}}`, `{"ph": "X", "args": {"bytes": "", "grid": ["", 1], "finished": true}}`},
		{"escapes", `{"ph": "X", "cat": "cpu_op", "name": "a\u0074en::mm", "tid": 1}`, `{"ph": "X", "cat": "cpu_op", "name": "a\u0074en::mm", "tid": 1}`},
	} {
		if got := event(t, New(Options{}), c.in); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestMembers(t *testing.T) {
	r := New(Options{})
	for _, c := range []struct{ key, in, want string }{
		{"schemaVersion", `1`, `1`},
		{"host_name", `"node17"`, `"host-0"`},
		{"trace_id", `"AB12"`, `"trace-0"`},
		{"traceName", `"/tmp/x.json"`, ``},
		{"env", `{"HF_TOKEN": "x"}`, ``},
		{"with_stack", `{"a": 1}`, ``},
		{"deviceProperties", `[{"id": 0, "name": "NVIDIA H200", "uuid": "GPU-1", "numSms": 132}]`, `[{"id": 0, "name": "NVIDIA H200", "numSms": 132}]`},
		{"distributedInfo", `{"backend": "nccl", "rank": 3, "master_addr": "node17", "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}`,
			`{"backend": "nccl", "rank": 3, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}`},
		{"distributedInfo", `{"rank": 1, "clock": {"reference": "node17", "offset_ns": 7, "rtt_ns": 90000, "by": "acme"}}`, `{"rank": 1, "clock": {"reference": "host-0", "offset_ns": 7, "rtt_ns": 90000}}`},
		{"distributedInfo", `{"rank": 1, "clock": "acme"}`, `{"rank": 1}`},
		{"distributedInfo", `["acme", 1]`, `["", 1]`},
		{"stepscope", `{"format": 1, "profile_id": "acme", "ranks": [{"label": "TP00", "file": "/x/y", "host_name": "node17", "trace_id": "AB12", "problem": {"reason": "x", "offset": 3}}], "notes": ["n"]}`,
			`{"format": 1, "ranks": [{"label": "TP00", "host_name": "host-0", "trace_id": "trace-0", "problem": { "offset": 3}}]}`},
	} {
		if got := string(r.Member(c.key, []byte(c.in))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.key, got, c.want)
		}
	}
}

// FuzzEvent redacts the scanner's events and members for any text. The result is JSON, and a secret outside names never
// stays.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"a": {"b": [1, {"c": "}"}, null]}, "host_name": "n", "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "args": {"rids": "a,b", "x": ["planted-secret"]}}]}`))
	f.Add([]byte(`{"distributedInfo": ["planted-secret", {"pg_config": ["planted-secret"]}], "stepscope": {"missing": ["planted-secret"]}, "deviceProperties": ["planted-secret"]}`))
	f.Add([]byte(`{"traceEvents": [{"ph":"M","pid":"[TP00] 4000","args":{"name":"planted-secret","labels":"planted-secret","sort_index":"planted-secret"}, "id": "planted-secret"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := chromejson.NewScanner(bytes.NewReader(text))
		defer s.Close()
		r := New(Options{})
		for {
			kind, err := s.Next()
			if err != nil {
				return
			}
			if kind == chromejson.MetaToken {
				if v := r.Member(string(s.Key), s.Value); v != nil && !json.Valid(v) {
					t.Fatalf("%q: %s\nbecame\n%s", s.Key, s.Value, v)
				}
				continue
			}
			before := string(s.Event.Raw)
			r.Event(&s.Event)
			if !json.Valid(s.Event.Raw) {
				t.Fatalf("%s\nbecame\n%s", before, s.Event.Raw)
			}
			if ph := s.Event.Ph; ph != 'X' && ph != 'B' && ph != 'E' && strings.Contains(string(s.Event.Raw), "planted-secret") {
				t.Fatalf("%s\nbecame\n%s", before, s.Event.Raw)
			}
		}
	})
}

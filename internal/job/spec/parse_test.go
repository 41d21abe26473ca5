package spec

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func file(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// laid returns the document's example with a fragment in place of its profiling section.
func laid(t testing.TB, fragment string) string {
	t.Helper()
	before, rest, _ := strings.Cut(file(t, "torch.yaml"), "profiling:\n")
	_, after, ok := strings.Cut(rest, "benchmark:\n")
	if !ok {
		t.Fatal("the example has no benchmark after its profiling")
	}
	return before + file(t, fragment) + "benchmark:\n" + after
}

func texts(notes []Note) []string {
	var all []string
	for _, n := range notes {
		all = append(all, strings.TrimPrefix(n.String(), n.File+":"))
	}
	return all
}

func problems(t testing.TB, err error) []Note {
	t.Helper()
	var p Problems
	if err != nil && !errors.As(err, &p) {
		t.Fatalf("%v is not a list of problems", err)
	}
	return p
}

// TestDocument parses the profiling document's complete example, and its two fragments in that example.
func TestDocument(t *testing.T) {
	flags := []Flag{{"model-path", "/model/"}}
	want := Job{
		Name: "profiling-torch", Model: Model{"dsfp8", "0.5.5", "fp8"},
		Resources: Resources{GPUType: "gb200", GPUsPerNode: 4, PrefillNodes: 1, PrefillWorkers: 1, DecodeNodes: 1, DecodeWorkers: 1},
		Backend: Backend{
			Type: SGLang, GPUType: "gb200-fp8", Environment: map[Role][]Setting{}, Config: map[Role][]Flag{Prefill: flags, Decode: flags},
			EnableMultipleFrontends: true, NumAdditionalFrontends: 9,
		},
		Benchmark: Benchmark{Type: "manual", ReqRate: "inf"},
	}
	for name, c := range map[string]struct {
		text, note      string
		typ             string
		prefill, decode Phase
	}{
		"whole": {file(t, "torch.yaml"), "17:9", Torch, Phase{1024, 128, 24, 0, 50}, Phase{1024, 128, 256, 0, 50}},
		"torch": {laid(t, "fragment-torch.yaml"), "17:9", Torch, Phase{1024, 128, 24, 0, 50}, Phase{1024, 128, 256, 0, 50}},
		"nsys":  {laid(t, "fragment-nsys.yaml"), "17:9", Nsys, Phase{2048, 64, 16, 10, 30}, Phase{2048, 64, 512, 10, 30}},
	} {
		j, notes, err := Parse("job.yaml", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := texts(notes); !slices.Equal(got, []string{c.note + ": enable_config_dump is false: profiling.type is " + c.typ}) {
			t.Errorf("%s: notes %q", name, got)
		}
		j.origin = origin{}
		want.Profiling = Profiling{c.typ, &c.prefill, &c.decode}
		if !reflect.DeepEqual(*j, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, *j, want)
		}
		if !j.Disaggregated() || !slices.Equal(j.Roles(), []Role{Prefill, Decode}) || j.Nodes(Decode) != 1 || j.Workers(Prefill) != 1 ||
			*j.Phase(Prefill) != c.prefill || *j.Phase(Decode) != c.decode {
			t.Errorf("%s: roles %v", name, j.Roles())
		}
	}
}

// TestFragmentAlone checks that a fragment is not a job: every missing key is named.
func TestFragmentAlone(t *testing.T) {
	for _, name := range []string{"fragment-torch.yaml", "fragment-nsys.yaml"} {
		_, _, err := Parse(name, []byte(file(t, name)))
		want := []string{
			"1:1: name is missing", "1:1: model.path is missing", "1:1: model.container is missing", "1:1: model.precision is missing",
			"1:1: resources.gpu_type is missing",
			"1:1: resources: give prefill_nodes, decode_nodes, prefill_workers and decode_workers, or agg_nodes and agg_workers",
		}
		if got := texts(problems(t, err)); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

// changed returns the document's example with lines replaced: old, new, old, new…
func changed(t testing.TB, pairs ...string) string {
	t.Helper()
	text := file(t, "torch.yaml")
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the example has no %q", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

const (
	prefillPhase = "  prefill:\n    isl: 1024\n    osl: 128\n    concurrency: 24\n    start_step: 0\n    stop_step: 50\n"
	decodePhase  = "  decode:\n    isl: 1024\n    osl: 128\n    concurrency: 256\n    start_step: 0\n    stop_step: 50\n"
	apart        = "  prefill_nodes: 1\n  decode_nodes: 1\n  prefill_workers: 1\n  decode_workers: 1\n"
	prefillFlags = "    prefill:\n      model-path: \"/model/\"\n      # ... other flags\n"
	decodeFlags  = "    decode:\n      model-path: \"/model/\"\n      # ... other flags\n"
)

// rules has each rule with its exact text and position. The pairs are replaced in the example.
var rules = map[string]struct {
	pairs []string
	want  []string
}{
	"benchmark": {
		[]string{`type: "manual"`, "type: sa-bench"},
		[]string{"32:9: Cannot enable profiling with benchmark type 'sa-bench'. Profiling mode is mutually exclusive with benchmarking."},
	},
	"prefill workers": {
		[]string{"prefill_workers: 1", "prefill_workers: 2"},
		[]string{"12:20: Profiling mode requires single worker only. Got prefill_workers=2",
			"10:18: Prefill resource mismatch: Workers: 2, Nodes: 1; each worker needs at least 1 node"},
	},
	"decode workers": {
		[]string{"decode_workers: 1", "decode_workers: 4", "decode_nodes: 1", "decode_nodes: 4"},
		[]string{"13:19: Profiling mode requires single worker only. Got decode_workers=4"},
	},
	"no worker": {
		[]string{"decode_workers: 1", "decode_workers: 0"},
		[]string{"13:19: Profiling mode requires single worker only. Got decode_workers=0"},
	},
	"missing number of workers": {
		[]string{"  prefill_workers: 1\n", ""},
		[]string{"8:1: Profiling mode requires single worker only. Got no prefill_workers: resources.prefill_workers is missing"},
	},
	"aggregated workers": {
		[]string{apart, "  agg_nodes: 2\n  agg_workers: 2\n", prefillFlags + decodeFlags, "    aggregated: {model-path: /model/}\n", prefillPhase, ""},
		[]string{"11:16: Profiling mode requires single worker only. Got agg_workers=2"},
	},
	"no isl": {
		[]string{"    isl: 1024\n", ""},
		[]string{"18:3: Error: isl and osl must be set for profiling. profiling.prefill.isl is missing"},
	},
	"an empty phase": {
		[]string{decodePhase, "  decode: {}\n"},
		[]string{"24:3: Error: isl and osl must be set for profiling. profiling.decode.isl is missing",
			"24:3: Error: isl and osl must be set for profiling. profiling.decode.osl is missing", "24:3: profiling.decode.concurrency is missing"},
	},
	"a phase without a value": {[]string{decodePhase, "  decode:\n"}, []string{"24:3: profiling.decode has no value"}},
	"no phase":                {[]string{prefillPhase + decodePhase, ""}, []string{"17:9: profiling.type is torch, but no phase would run: give profiling.prefill or profiling.decode"}},
	"no phase for aggregated workers": {
		[]string{apart, "  agg_nodes: 1\n  agg_workers: 1\n", prefillFlags + decodeFlags, "    aggregated: {model-path: /model/}\n", decodePhase, ""},
		[]string{"15:9: profiling.type is torch, but no phase would run: give profiling.decode"},
	},
	"stop before start":  {[]string{"start_step: 0", "start_step: 50"}, []string{"23:16: profiling.prefill.stop_step: want more than start_step 50, got 50"}},
	"stop by default":    {[]string{"start_step: 0\n    stop_step: 50", "start_step: 60"}, []string{"22:17: profiling.prefill.stop_step: want more than start_step 60, got 50"}},
	"no profiling type":  {[]string{"  type: \"torch\"\n", ""}, []string{"16:1: profiling.type is missing"}},
	"profiling null":     {[]string{"profiling:\n  type: \"torch\"\n" + prefillPhase + decodePhase, "profiling:\n"}, []string{"16:1: profiling has no value"}},
	"an unknown profile": {[]string{`type: "torch"`, "type: troch"}, []string{`17:9: profiling.type: "troch" is not one of none, torch and nsys`}},
	"a mount of three parts": {
		[]string{"benchmark:", "extra_mount: [\"/a:/b\", \"a:b:ro\", 3]\nbenchmark:"},
		[]string{`31:24: extra_mount entries must be in 'host:container' format, got "a:b:ro"`, `31:34: extra_mount entries must be strings, got "3"`},
	},
	"a mount that is not a list": {[]string{"benchmark:", "extra_mount: /a:/b\nbenchmark:"}, []string{`31:14: extra_mount must be a list of 'host:container' strings, got "/a:/b"`}},
	"underscores": {
		[]string{"      model-path: \"/model/\"\n", "      served_model_name: x\n"},
		[]string{"37:7: Invalid key 'served_model_name' in sglang_config.prefill: Keys must use dashes (kebab-case), not underscores. Use 'served-model-name' instead."},
	},
	"no sections": {
		[]string{prefillFlags + decodeFlags, ""},
		[]string{"34:1: Disaggregated mode (prefill_nodes/decode_nodes) requires prefill and decode sections in sglang_config. Found: prefill=False, decode=False"},
	},
	"one section": {
		[]string{decodeFlags, ""},
		[]string{"35:3: Disaggregated mode (prefill_nodes/decode_nodes) requires prefill and decode sections in sglang_config. Found: prefill=True, decode=False"},
	},
	"aggregated section": {
		[]string{decodeFlags, decodeFlags + "    aggregated: {tp-size: 1}\n"},
		[]string{"42:5: Cannot use aggregated sglang_config section with disaggregated resources. Use prefill and decode sections instead, or switch to agg_nodes/agg_workers."},
	},
	"decode section": {
		[]string{apart, "  agg_nodes: 1\n  agg_workers: 1\n", prefillFlags, "    aggregated: {model-path: /model/}\n"},
		[]string{"35:5: Cannot use decode sglang_config section with aggregated resources (agg_nodes/agg_workers). Use disaggregated resources (prefill_nodes/decode_nodes) or use aggregated section in sglang_config."},
	},
	"no aggregated section": {
		[]string{apart, "  agg_nodes: 1\n  agg_workers: 1\n", decodeFlags, ""},
		[]string{"33:3: Aggregated mode (agg_nodes/agg_workers) requires an aggregated section in sglang_config."},
	},
	"too little": {
		[]string{"      model-path: \"/model/\"\n", "      tensor-parallel-size: 8\n"},
		[]string{"10:18: Prefill resource mismatch: Workers: 1, TP size: 8, GPUs per worker: 8, Total GPUs needed: 8, Total GPUs available: 4 (1 node × 4 GPUs/node); need 4 GPUs more"},
	},
	"too little for each worker": {
		[]string{"decode_nodes: 1", "decode_nodes: 3", "decode_workers: 1", "decode_workers: 2", decodeFlags, "    decode: {tp: 6}\n", "type: \"torch\"", "type: none"},
		[]string{"11:17: Decode resource mismatch: Workers: 2, Nodes per worker: 1, GPUs per worker (from TP): 6, GPUs available per worker: 4 (1 node × 4 GPUs/node); each worker needs 2 GPUs more"},
	},
	"both modes": {
		[]string{"  gpus_per_node: 4\n", "  agg_nodes: 1\n"},
		[]string{"14:14: Cannot specify both disaggregated and aggregated mode: found prefill_nodes and agg_nodes"},
	},
	"no mode":             {[]string{apart, ""}, []string{"8:1: resources: give prefill_nodes, decode_nodes, prefill_workers and decode_workers, or agg_nodes and agg_workers"}},
	"half a mode":         {[]string{"  decode_nodes: 1\n", ""}, []string{"8:1: resources.decode_nodes is missing"}},
	"no nodes":            {[]string{"decode_nodes: 1", "decode_nodes: 0"}, []string{"11:17: resources.decode_nodes: want at least 1, got 0"}},
	"a fraction":          {[]string{"isl: 1024", "isl: 10.5"}, []string{`19:10: profiling.prefill.isl: want a whole number, got "10.5"`}},
	"a word":              {[]string{"osl: 128", "osl: many"}, []string{`20:10: profiling.prefill.osl: want a whole number, got "many"`}},
	"negative":            {[]string{"start_step: 0", "start_step: -1"}, []string{"22:17: profiling.prefill.start_step: want at least 0, got -1"}},
	"too large":           {[]string{"stop_step: 50", "stop_step: 99999999999"}, []string{"23:16: profiling.prefill.stop_step: want at most 2147483647, got 99999999999"}},
	"precision":           {[]string{`precision: "fp8"`, "precision: fp9"}, []string{`6:14: model.precision: "fp9" is not one of fp4, fp8, fp16 and bf16`}},
	"gpu type":            {[]string{`"gb200"`, "a100"}, []string{`9:13: resources.gpu_type: "a100" is not one of gb200, gb300, h100 and cpu`}},
	"no GPU":              {[]string{`"gb200"`, "cpu"}, []string{"9:13: resources.gpu_type: cpu is only for backend.type stepscope"}},
	"backend":             {[]string{"backend:\n", "backend:\n  type: vllm\n"}, []string{`35:9: backend.type: "vllm" is not one of sglang and stepscope`}},
	"no container":        {[]string{"  container: \"0.5.5\"\n", ""}, []string{"3:1: model.container is missing"}},
	"no name":             {[]string{"name: \"profiling-torch\"\n", ""}, []string{"1:1: name is missing"}},
	"name null":           {[]string{`name: "profiling-torch"`, "name: ~"}, []string{"1:1: name has no value"}},
	"a name of two lines": {[]string{`name: "profiling-torch"`, `name: "a\nb"`}, []string{"1:7: name has a line break or another control character"}},
	"a list":              {[]string{`path: "dsfp8"`, "path: [a]"}, []string{"4:9: model.path: want a string, got a list"}},
	"not a map":           {[]string{"model:\n  path: \"dsfp8\"\n  container: \"0.5.5\"\n  precision: \"fp8\"\n", "model: dsfp8\n"}, []string{`3:8: model: want path, container and precision, got "dsfp8"`}},
	"unknown key":         {[]string{"concurrency: 24", "concurency: 24"}, []string{"18:3: profiling.prefill.concurrency is missing", `21:5: unknown key "concurency" in profiling.prefill; did you mean concurrency?`}},
	"unknown place":       {[]string{"benchmark:", "time_limit: 1:00:00\nbenchmark:"}, []string{`31:1: unknown key "time_limit"; did you mean slurm.time_limit?`}},
	"unknown":             {[]string{"benchmark:\n", "benchmark:\n  frontend: x\n"}, []string{`32:3: unknown key "frontend" in benchmark; the keys are type, isl, osl, concurrencies and req_rate`}},
	"srtctl's later keys": {
		[]string{"profiling:\n", "schema: 2\nprofiling:\n  aggregated: {isl: 1}\n"},
		[]string{`16:1: unknown key "schema"; files of srtctl 2 are not supported`, `18:3: unknown key "aggregated" in profiling; aggregated workers are recorded by profiling.decode`},
	},
	"twice":         {[]string{"osl: 128", "isl: 128"}, []string{"18:3: Error: isl and osl must be set for profiling. profiling.prefill.osl is missing", "20:5: isl appears twice; the first is in line 19"}},
	"not YAML":      {[]string{"model:", "model: ["}, []string{"8:1: ',' or ']' must be specified"}},
	"time limit":    {[]string{"benchmark:", "slurm: {time_limit: 4h}\nbenchmark:"}, []string{`31:21: slurm.time_limit: "4h" is not a time limit: want HH:MM:SS, D-HH:MM:SS or minutes`}},
	"config dump":   {[]string{"benchmark:", "enable_config_dump: 1\nbenchmark:"}, []string{`31:21: enable_config_dump: want true or false, got "1"`}},
	"variable":      {[]string{"backend:\n", "backend:\n  prefill_environment: {A-B: x, C: [y]}\n"}, []string{`35:25: backend.prefill_environment: "A-B" is not a variable name`, "35:36: backend.prefill_environment.C: want a string, got a list"}},
	"a flag's map":  {[]string{"      model-path: \"/model/\"\n", "      json-model-override-args: {a: 1}\n"}, []string{"37:33: backend.sglang_config.prefill.json-model-override-args: the value of a flag cannot be a map; write JSON as a quoted string"}},
	"a flag's null": {[]string{"      model-path: \"/model/\"\n", "      disable-radix-cache:\n"}, []string{"37:27: backend.sglang_config.prefill.disable-radix-cache has no value; write true for a flag without one"}},
	"a flag's name": {[]string{"      model-path: \"/model/\"\n", "      --tp: 1\n"}, []string{`37:7: sglang_config.prefill: "--tp" is not a flag name; write it without leading dashes`}},
	"our flag":      {[]string{"      model-path: \"/model/\"\n", "      nnodes: 2\n"}, []string{"37:7: sglang_config.prefill: nnodes follows from the job's resources; leave it out"}},
	"no concurrency": {
		[]string{`type: "torch"`, "type: none", `type: "manual"`, "type: sa-bench\n  isl: 5\n  osl: 5\n  concurrencies: []"},
		[]string{"35:18: benchmark.concurrencies is an empty list: sa-bench needs at least one number"},
	},
	"sa-bench": {
		[]string{`type: "torch"`, "type: none", `type: "manual"`, "type: sa-bench\n  isl: 5"},
		[]string{"31:1: benchmark.osl is missing: sa-bench needs isl, osl and concurrencies", "31:1: benchmark.concurrencies is missing: sa-bench needs isl, osl and concurrencies"},
	},
	"several": {
		[]string{"prefill_workers: 1", "prefill_workers: 2", "prefill_nodes: 1", "prefill_nodes: 2", `type: "manual"`, "type: mmlu", "stop_step: 50", "stop_step: 0", `precision: "fp8"`, `precison: "fp8"`},
		[]string{"3:1: model.precision is missing", `6:3: unknown key "precison" in model; did you mean precision?`, "12:20: Profiling mode requires single worker only. Got prefill_workers=2",
			"23:16: profiling.prefill.stop_step: want at least 1, got 0", "32:9: Cannot enable profiling with benchmark type 'mmlu'. Profiling mode is mutually exclusive with benchmarking."},
	},
}

func TestRules(t *testing.T) {
	for name, c := range rules {
		_, _, err := Parse("job.yaml", []byte(changed(t, c.pairs...)))
		got := texts(problems(t, err))
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// TestToday loads five valid and five broken files of the dialect H.
func TestToday(t *testing.T) {
	for name, c := range map[string]struct {
		jobs     []string
		problems []string
		warnings []string
	}{
		"ok1-agg-torch": {jobs: []string{"ok1-agg-torch"}, warnings: []string{
			"15:3: profiling.aggregated: with srtctl, steps 40 to 60 fall into the warm-up of concurrency 16; stepscope counts steps of the measured load"}},
		"ok2-pd-torch": {jobs: []string{"ok2-pd-torch"}, warnings: []string{
			"12:69: benchmark.concurrencies: only the first of 2 is captured by srtctl; stepscope captures the one that --concurrency names"}},
		"ok3-nsys": {jobs: []string{"ok3-nsys"}},
		"ok4-sweep": {jobs: []string{"ok4-sweep_tp1_conc4", "ok4-sweep_tp1_conc64", "ok4-sweep_tp2_conc4", "ok4-sweep_tp2_conc64", "ok4-sweep_tp4_conc4", "ok4-sweep_tp4_conc64"},
			warnings: []string{
				"8:26: profiling.aggregated: with srtctl, steps 10 to 20 fall into the warm-up of concurrency 4; stepscope counts steps of the measured load",
				"8:26: profiling.aggregated: with srtctl, steps 10 to 20 fall into the warm-up of concurrency 64; stepscope counts steps of the measured load"}},
		"ok5-vllm": {jobs: []string{"ok5-vllm_eager", "ok5-vllm_tp_0", "ok5-vllm_tp_1"}, warnings: []string{
			"8:21: srtctl fails here after the model is loaded: its script cannot start a profile with frontend.type vllm; stepscope can",
			"14:36: benchmark.concurrencies: only the first of 2 is captured by srtctl; stepscope captures the one that --concurrency names"}},
		"bad1-typo": {problems: []string{`3:77: unknown key "gpus_per_ag" in resources; did you mean gpus_per_agg?`}},
		"bad2-wrong-phase": {problems: []string{"15:3: profiling.decode: the workers are aggregated (agg_nodes); use profiling.aggregated. " +
			"(profiling.decode recorded aggregated workers in the format of 2025-12-05, whose phases have isl, osl and concurrency)"}},
		"bad3-steps": {problems: []string{`14:9: profiling.type: "torhc" is none of none, torch, nsys and nsys-time; did you mean torch?`,
			"15:43: profiling.aggregated.stop_step: want more than start_step 40, got 40"}},
		"bad4-manual": {problems: []string{"12:19: nothing would be captured: profiling.type is torch, but benchmark.type is manual; want sa-bench or sglang-bench with isl, osl and concurrencies"},
			warnings: []string{`9:46: backend.aggregated_environment.PYTHONUNBUFFERED: srtctl wants a text here, write "1"`}},
		"bad5-zip": {problems: []string{"11:1: zip_override_tp: lists of different lengths: resources.gpus_per_agg has 2, backend.vllm_config.aggregated.tensor-parallel-size has 3; want the same, or 1"}},
	} {
		text := file(t, "today/"+name+".yaml")
		f, err := Load("f", []byte(text), "")
		if got := texts(problems(t, err)); !slices.Equal(got, c.problems) {
			t.Errorf("%s: problems\n got %q\nwant %q", name, got, c.problems)
		}
		var jobs, warnings []string
		for _, v := range f.Variants {
			jobs = append(jobs, v.Job.Name)
		}
		for _, n := range f.Notes {
			if n.Class == warning || n.Class == "" {
				warnings = append(warnings, texts([]Note{n})...)
			}
		}
		if !slices.Equal(jobs, c.jobs) || !slices.Equal(warnings, c.warnings) || err == nil && f.Dialect != DialectH {
			t.Errorf("%s: dialect %q, jobs %q, warnings\n got %q\nwant %q", name, f.Dialect, jobs, warnings, c.warnings)
		}
		if tree, _ := yamltree.Parse([]byte(text)); strings.HasPrefix(name, "ok") && name != "ok5-vllm" {
			if err := matches(schemaOf(DialectH), tree.Plain(), "job"); err != nil {
				t.Errorf("%s: the schema: %v", name, err)
			}
		}
	}
}

// recipe is a file of the dialect H that units change.
const recipe = `name: r
model: {path: "hf:Qwen/Qwen3-0.6B", container: "lmsysorg/sglang:v0.5.9", precision: bf16}
resources: {gpu_type: h100, gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}
frontend: {type: sglang}
backend: {sglang_config: {aggregated: {tp-size: 8}}}
benchmark: {type: sa-bench, isl: 512, osl: 64, concurrencies: "4x8"}
`

// TestUnits checks each part of the format that the dialect P lacks, with a note of its class, beside a wrong twin.
func TestUnits(t *testing.T) {
	const apart = "prefill_nodes: 1, decode_nodes: 1, prefill_workers: 1, decode_workers: 1"
	const cannot = "stepscope job apply cannot run this: "
	for name, c := range map[string]struct {
		change  []string // old, new
		want    string   // of a note
		wrong   []string
		problem string
	}{
		"dynamo": {[]string{"frontend: {type: sglang}", "dynamo: {install: true, version: 1.1.0, request_plane: nats}"}, "ignored here: dynamo",
			[]string{"frontend: {type: sglang}", "dynamo: {instal: true}"}, `unknown key "instal" in dynamo; did you mean install?`},
		"frontend": {[]string{"{type: sglang}", "{type: dynamo, nginx_container: nginx, num_additional_frontends: 3}"}, "ignored here: frontend.nginx_container, frontend.num_additional_frontends",
			[]string{"{type: sglang}", "{type: dynamo, num_additional_frontends: many}"}, `frontend.num_additional_frontends: want a whole number, got "many"`},
		"gpus_per": {[]string{"agg_nodes: 1, agg_workers: 1", "agg_nodes: 1, agg_workers: 4, gpus_per_agg: 2", "tp-size: 8", "tp-size: 2"}, "",
			[]string{"agg_workers: 1", "agg_workers: 1, gpus_per_agg: 0"}, "resources.gpus_per_agg: want at least 1, got 0"},
		"packing": {[]string{"agg_workers: 1", "agg_workers: 3, gpus_per_agg: 4", "tp-size: 8", "tp-size: 4"}, "the workers do not fit on 1 node of 8 GPUs", nil, ""},
		"trtllm": {[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: trtllm, trtllm_config: {aggregated: {tensor_parallel_size: 8, kv: {a: [1]}}}}", "type: sglang", "type: dynamo"}, cannot + "backend.type trtllm",
			[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: sglang, trtllm_config: {}}"}, `unknown key "trtllm_config" in backend; it is for backend.type trtllm, and the type is sglang`},
		"health_check": {[]string{"frontend:", "health_check: {max_attempts: 360, interval_seconds: 10}\nfrontend:"}, "",
			[]string{"frontend:", "health_check: {attempts: 360}\nfrontend:"}, `unknown key "attempts" in health_check; the keys are max_attempts and interval_seconds`},
		"gpu_type": {[]string{"h100", "b300"}, "", []string{"gpu_type: h100", "gpu_type: [h100]"}, "resources.gpu_type: want a string, got a list"},
		"sa-bench keys": {[]string{"isl: 512", "num_prompts_mult: 5, num_warmup_mult: 0, random_range_ratio: 1, use_chat_template: false, isl: 512"}, "ignored here: benchmark.use_chat_template",
			[]string{"isl: 512, ", ""}, "benchmark.isl is missing: sa-bench needs isl, osl and concurrencies"},
		"concurrencies": {[]string{"type: sa-bench, isl: 512, osl: 64, concurrencies: \"4x8\"", "type: manual, concurrencies: []"}, "",
			[]string{"\"4x8\"", "[]"}, "benchmark.concurrencies is an empty list: sa-bench needs at least one number"},
		"swept concurrencies": {[]string{"\"4x8\"", "[\"{c}\"]", "name: r\n", "name: r\nsweep: {c: [4]}\n"}, "", nil, ""},
		"range ratio":         {[]string{"isl: 512", "isl: 512, random_range_ratio: 0"}, "", []string{"isl: 512", "isl: 512, random_range_ratio: 1.5"}, "benchmark.random_range_ratio: want a number from 0 to 1, got 1.5"},
		"range ratio NaN":     {[]string{"isl: 512", "isl: 512, random_range_ratio: \"0.5\""}, "", []string{"isl: 512", "isl: 512, random_range_ratio: .nan"}, "benchmark.random_range_ratio: want a number from 0 to 1, got NaN"},
		"infra": {[]string{"frontend:", "infra: {etcd_nats_dedicated_node: true}\nfrontend:"}, "ignored here: infra",
			[]string{"frontend:", "infra: {etcd_nats_dedicated_node: maybe}\nfrontend:"}, `infra.etcd_nats_dedicated_node: want true or false, got "maybe"`},
		"identity": {[]string{"frontend:", "identity: {model: {repo: a/b}, frameworks: {dynamo: 1.1.0}}\nfrontend:"}, "ignored here: identity",
			[]string{"frontend:", "identity: {modle: {repo: a/b}}\nfrontend:"}, `unknown key "modle" in identity; did you mean model?`},
		"vllm": {[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm, connector: null, vllm_config: {aggregated: {tensor-parallel-size: 8}}}", "type: sglang", "type: dynamo"}, "",
			[]string{"{sglang_config:", "{type: vllm, sglang_config:"}, `unknown key "sglang_config" in backend; it is for backend.type sglang, and the type is vllm`},
		"pass-through maps": {[]string{"frontend:", "srun_options: {mpi: pmix}\nsbatch_directives: {mem: \"0\", exclusive: \"\"}\nenvironment: {A: b}\nsetup_script: x.sh\nfrontend:"}, "",
			[]string{"frontend:", "sbatch_directives: [mem]\nfrontend:"}, "sbatch_directives: want names and values, got a list"},
		"frontend.args": {[]string{"{type: sglang}", "{type: sglang, args: {policy: random}, env: {A: b}}"}, "ignored here: frontend.args, frontend.env", []string{"{type: sglang}", "{type: sglang, env: [A]}"}, "frontend.env: want names and values, got a list"},
		"benchmark types": {[]string{"type: sa-bench", "type: gsm8k, num_shots: 5"}, cannot + "benchmark.type gsm8k",
			[]string{"type: sa-bench", "type: custom"}, "benchmark.command is missing: custom needs command"},
		"gsm8k-bench": {[]string{"type: sa-bench", "type: gsm8k-bench"}, `benchmark.type: srtctl has no benchmark "gsm8k-bench" and would fail after the model is loaded; did you mean gsm8k?`, nil, ""},
		"precision":   {[]string{"precision: bf16", "precision: NVFP4"}, "", []string{", precision: bf16", ""}, "model.precision is missing"},
		"empty texts": {[]string{"frontend:", "slurm: {account: \"\", partition: ' ', time_limit: \"\"}\nsetup_script: \"\"\nfrontend:"}, "",
			[]string{"precision: bf16", "precision: \"\""}, "model.precision is missing"},
		"empty defaults": {[]string{"frontend:", "slurm: {account: null}\nfrontend:"}, "", []string{"type: sa-bench", "type: \"\""}, "benchmark.type is empty"},
		"mounts": {[]string{"frontend:", "extra_mount: [\"tmpfs:/dev/shm:size=100%\", \"/a:/b:ro\"]\ncontainer_mounts: {/a: /b}\nfrontend:"}, "",
			[]string{"frontend:", "extra_mount: [/a]\nfrontend:"}, `extra_mount entries must be in 'host:container' format, got "/a"`},
		"override files": {[]string{"name: r\n", "override_x: {resources: {gpu_type: b200}}\nbase:\n  name: r\n", "\nmodel", "\n  model", "\nresources", "\n  resources", "\nfrontend", "\n  frontend", "\nbackend", "\n  backend", "\nbenchmark", "\n  benchmark"}, "",
			[]string{"name: r\n", "override_x: 3\nbase: {}\nname: r\n"}, `override_x: want keys of a job, got "3"`},
		"long zip": {[]string{"name: r\n", "zip_override_x: {benchmark: {isl: [" + strings.Repeat("7, ", 999) + "7]}}\nbase:\n  name: r\n", "\nmodel", "\n  model", "\nresources", "\n  resources", "\nfrontend", "\n  frontend", "\nbackend", "\n  backend", "\nbenchmark", "\n  benchmark"}, "",
			[]string{"name: r\n", "zip_override_x: {benchmark: {isl: [" + strings.Repeat("7, ", 1000) + "7]}}\nbase: {}\nname: r\n"}, "1:1: zip_override_x: benchmark.isl has 1001 elements; want at most 1000, one for each job"},
		"het and spread": {[]string{"agg_nodes: 1, agg_workers: 1", apart + ", het_jobs: true, spread_workers: true", "aggregated: {tp-size: 8}", "prefill: {tp-size: 8}, decode: {tp-size: 8}"}, "ignored here: resources.het_jobs",
			[]string{"agg_nodes: 1", "spread_workers: [1], agg_nodes: 1"}, "resources.spread_workers: want true or false, got a list"},
		"het without pairs": {[]string{"agg_nodes: 1", "het_jobs: false, agg_nodes: 1"}, "ignored here: resources.het_jobs",
			[]string{"agg_nodes: 1", "het_jobs: true, agg_nodes: 1"}, "het_jobs=true requires a disaggregated layout (set resources.prefill_nodes and resources.decode_nodes)"},
		"het with shared nodes": {[]string{"agg_nodes: 1, agg_workers: 1", strings.Replace(apart, "decode_nodes: 1", "decode_nodes: 0", 1) + ", gpus_per_prefill: 4", "aggregated: {tp-size: 8}", "prefill: {tp-size: 4}"}, "",
			[]string{"agg_nodes: 1, agg_workers: 1", strings.Replace(apart, "decode_nodes: 1", "decode_nodes: 0", 1) + ", gpus_per_prefill: 4, het_jobs: true", "aggregated: {tp-size: 8}", "prefill: {tp-size: 4}"}, "het_jobs=true requires prefill_nodes >= 1 and decode_nodes >= 1"},
		"het and vllm": {[]string{"agg_nodes: 1, agg_workers: 1", apart + ", het_jobs: false", "{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm}", "type: sglang", "type: dynamo"}, cannot + "backend.type vllm with prefill and decode workers",
			[]string{"agg_nodes: 1, agg_workers: 1", apart + ", het_jobs: true", "{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm}", "type: sglang", "type: dynamo"}, "het_jobs=true is only supported on the sglang backend; got backend.type='vllm'"},
		"het and a node of the client": {[]string{"agg_nodes: 1, agg_workers: 1", apart, "isl: 512", "client_dedicated_node: true, isl: 512"}, "ignored here: benchmark.client_dedicated_node",
			[]string{"agg_nodes: 1, agg_workers: 1", apart + ", het_jobs: true", "isl: 512", "client_dedicated_node: true, isl: 512"}, "frontend.dedicated_node/benchmark.client_dedicated_node are not supported together with het_jobs=true"},
		"node of the client": {[]string{"isl: 512", "client_dedicated_node: true, client_placement: head, isl: 512"}, "ignored here: benchmark.client_dedicated_node",
			[]string{"isl: 512", "client_dedicated_node: true, client_placement: last_decode, isl: 512"}, "benchmark.client_dedicated_node requires benchmark.client_placement: head (got 'last_decode'); otherwise the reserved node is never used"},
		"node of the frontend": {[]string{"{type: sglang}", "{type: sglang, orchestrator_placement: first_decode}"}, "ignored here: frontend.orchestrator_placement",
			[]string{"{type: sglang}", "{type: sglang, dedicated_node: true, orchestrator_placement: first_decode}"}, "frontend.dedicated_node requires frontend.orchestrator_placement: head (got 'first_decode'); otherwise the reserved node is never used"},
		"node of etcd and NATS": {[]string{"frontend:", "infra: {etcd_nats_dedicated_node: true}\ntelemetry: {enabled: false}\nfrontend:"}, "ignored here: infra, telemetry",
			[]string{"frontend:", "infra: {etcd_nats_dedicated_node: true}\ntelemetry: {enabled: true, dcgm_exporter: {container_image: a, port: 1}}\nfrontend:"}, "telemetry requires infra.etcd_nats_dedicated_node: false"},
		"telemetry": {[]string{"frontend:", "telemetry: {enabled: true, dcgm_exporter: {container_image: a, port: 1}}\nfrontend:"}, "ignored here: telemetry",
			[]string{"frontend:", "telemetry: {enabled: true}\nfrontend:"}, "telemetry.dcgm_exporter is required when telemetry is enabled"},
		"telemetry at 3 s": {[]string{"frontend:", "telemetry: {enabled: true, default_frequency: 3, dcgm_exporter: {container_image: a, port: 1}}\nfrontend:"}, "ignored here: telemetry",
			[]string{"frontend:", "telemetry: {enabled: true, default_frequency: 3.5, dcgm_exporter: {container_image: a, port: 1}}\nfrontend:"}, "telemetry.default_frequency is 3.5"},
		"telemetry of two loads": {[]string{"frontend:", "telemetry: {enabled: true, dcgm_exporter: {container_image: a, port: 1}}\nfrontend:"}, "ignored here: telemetry",
			[]string{"frontend:", "telemetry: {enabled: true, dcgm_exporter: {container_image: a, port: 1}}\nfrontend:", "\"4x8\"", "\"4x8x4\""}, "telemetry requires different concurrencies; got [4 8 4]"},
		"headless": {[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm, dp_launch_mode: per_gpu, vllm_config: {aggregated: {data_parallel_size: 8, headless: true}}}", "type: sglang", "type: dynamo"}, "ignored here: backend.dp_launch_mode",
			[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm, vllm_config: {aggregated: {data_parallel_size: 8, headless: true}}}", "type: sglang", "type: dynamo"}, "vllm_config.aggregated.headless cannot be set when dp_launch_mode=per_node"},
		"dp_launch_mode": {[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm, dp_launch_mode: per_node}", "type: sglang", "type: dynamo"}, "ignored here: backend.dp_launch_mode",
			[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm, dp_launch_mode: per_rank}", "type: sglang", "type: dynamo"}, `backend.dp_launch_mode: "per_rank" is not one of per_node and per_gpu`},
		"headless without DP": {[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: vllm, vllm_config: {aggregated: {tensor-parallel-size: 8, headless: true}}}", "type: sglang", "type: dynamo"}, "", nil, ""},
		"H profiling": {[]string{"frontend:", "profiling: {type: torch, aggregated: {start_step: 60, stop_step: 80}}\nfrontend:"}, "only the first of 2 is captured by srtctl",
			[]string{"frontend:", "profiling: {type: torch, aggregated: {start_step: 5, stop_step: 5}}\nfrontend:"}, "profiling.aggregated.stop_step: want more than start_step 5, got 5"},
		"nsys-time": {[]string{"frontend:", "profiling: {type: nsys-time, delay_secs: 60, duration_secs: 5}\nfrontend:"}, cannot + "profiling.type nsys-time",
			[]string{"frontend:", "profiling: {type: nsys-time, delay_secs: 60}\nfrontend:"}, "profiling.duration_secs is missing: nsys-time needs delay_secs and duration_secs"},
		"role without flags": {[]string{"backend: {sglang_config: {aggregated: {tp-size: 8}}}", "backend: {}"}, "", []string{"backend: {sglang_config: {aggregated: {tp-size: 8}}}", "backend: []"}, "backend: want type, gpu_type, "},
		"absent role":        {[]string{"{aggregated: {tp-size: 8}}", "{aggregated: {tp-size: 8}, prefill: {tp-size: 4}}"}, "", []string{"{aggregated: {tp-size: 8}}", "{agg: {tp-size: 8}}"}, `unknown key "agg" in backend.sglang_config; the keys are prefill, decode and aggregated`},
		"backend extras": {[]string{"backend: {", "backend: {kv_events_config: true, mooncake_kv_store: {env: {A: b}}, "}, cannot + "backend.mooncake_kv_store",
			[]string{"backend: {", "backend: {enable_multiple_frontends: true, "}, `unknown key "enable_multiple_frontends" in backend; did you mean frontend.enable_multiple_frontends?`},
		"mocker": {[]string{"{sglang_config: {aggregated: {tp-size: 8}}}", "{type: mocker, speedup_ratio: 10.5}", "type: sglang", "type: dynamo"}, cannot + "backend.type mocker",
			[]string{"backend: {", "backend: {type: moker, "}, `backend.type: "moker" is not one of sglang, vllm, trtllm, mocker and stepscope`},
		"M profiling": {[]string{"frontend:", "profiling: {type: torch, isl: 512, osl: 64, concurrency: 8, aggregated: {start_step: 5, stop_step: 9}}\nfrontend:"}, "the load beside profiling.type is the format of 2025-12-19, which today's srtctl refuses",
			[]string{"frontend:", "profiling: {type: torch, isl: 512, concurrency: 8, aggregated: {start_step: 5, stop_step: 9}}\nfrontend:"}, "profiling.osl is missing"},
		"underscores": {[]string{"tp-size: 8", "tp_size: 8, json_model_override_args: {a: 1}, x: null"}, "", []string{"tp-size: 8", "\"a b\": 8"}, `sglang_config.aggregated: "a b" is not a flag name`},
		"observability": {[]string{"frontend:", "observability: {enabled: true, tachometer: {enabled: true}}\nfrontend:"}, "ignored here: observability",
			[]string{"frontend:", "observability: {tachometer: {dcgm_exporter: {port: 1}}}\nfrontend:"}, "observability.tachometer.dcgm_exporter.container_image is missing"},
	} {
		apply := func(pairs []string) (*File, error) {
			text := recipe
			for i := 0; i < len(pairs); i += 2 {
				if !strings.Contains(text, pairs[i]) {
					t.Fatalf("%s: the recipe lacks %q", name, pairs[i])
				}
				text = strings.Replace(text, pairs[i], pairs[i+1], 1)
			}
			return Load("f", []byte(text), "")
		}
		f, err := apply(c.change)
		if err != nil || !strings.Contains(fmt.Sprint(f.Notes), c.want) || c.want == "" && len(f.Notes) > 1 {
			t.Errorf("%s: %v, notes %q, want %q", name, err, texts(f.Notes), c.want)
		}
		if c.wrong == nil {
			continue
		}
		if _, err := apply(c.wrong); !strings.Contains(fmt.Sprint(err), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
	}
}

// TestDialects checks how the dialect of a file is told.
func TestDialects(t *testing.T) {
	h := strings.Replace(recipe, "frontend: {type: sglang}\n", "", 1)
	for _, c := range []struct{ text, dialect, problem string }{
		{recipe, "H", ""},
		{h, "", ""}, // nothing in it belongs to one dialect
		{strings.Replace(h, "h100", "h200", 1), "H", ""},
		{h + "profiling: {type: torch, aggregated: {}}\n", "H", ""},
		{strings.Replace(h, "sa-bench", "manual", 1) + "profiling: {type: torch, decode: {isl: 1, osl: 1, concurrency: 1}}\n", "P", ""},
		{h + "profiling: {type: torch, isl: 1, osl: 1, concurrency: 1, aggregated: {}}\n", "M", ""},
		{h + "profiling: {type: torch, isl: 1, osl: 1, concurrency: 1, start_step: 3, stop_step: 9}\n", "M", ""},
		{recipe + "profiling:\n  type: torch\n  decode: {isl: 1, osl: 1, concurrency: 1}\n", "", "frontend in line 4 belongs to the format of 2026-02-12, but profiling.decode.isl in line 9 to the format of 2025-12-05; want one format"},
		{h + "profiling:\n  type: torch\n  isl: 1\n  decode: {isl: 1, osl: 1, concurrency: 1}\n", "", "profiling.isl in line 8 belongs to the format of 2025-12-19, but profiling.decode.isl in line 9 to"},
		{recipe + "lock: {version: 1}\n", "H", ""},
	} {
		f, err := Load("f", []byte(c.text), "")
		if string(f.Dialect) != c.dialect || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s\n%q, %v; want %q, %q", c.text, f.Dialect, err, c.dialect, c.problem)
		}
	}
}

// TestSelect checks the selection of variants.
func TestSelect(t *testing.T) {
	text := file(t, "today/ok5-vllm.yaml")
	for selected, want := range map[string][]string{
		"":                   {"ok5-vllm_eager", "ok5-vllm_tp_0", "ok5-vllm_tp_1"},
		"base":               {"ok5-vllm"},
		"override_eager":     {"ok5-vllm_eager"},
		"zip_override_tp":    {"ok5-vllm_tp_0", "ok5-vllm_tp_1"},
		"zip_override_tp[1]": {"ok5-vllm_tp_1"},
		"*tp*":               {"ok5-vllm_tp_0", "ok5-vllm_tp_1"},
		"override_x":         nil,
		// Brackets are an index first. They are part of a pattern only if no zip section has that name.
		"zip_override_tp[2]": nil,
		"zip_override_tp2":   {"ok5-vllm_tp2_0"},
		"zip_override_t[p]2": {"ok5-vllm_tp2_0"},
		"override_[a-e]ager": {"ok5-vllm_eager"},
	} {
		text := text
		if strings.ContainsAny(selected, "12") {
			text += "zip_override_tp1: {benchmark: {isl: [64]}}\nzip_override_tp2: {benchmark: {isl: [64]}}\n"
		}
		f, err := Load("f", []byte(text), selected)
		var got []string
		for _, v := range f.Variants {
			got = append(got, v.Job.Name)
		}
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", selected, got, err, want)
		}
	}
	// A variant without a mark of the dialect H has the dialect of the others.
	plain := "base:\n" + strings.ReplaceAll("\n"+strings.Replace(recipe, "frontend: {type: sglang}\n", "", 1), "\n", "\n  ")
	if f, err := Load("f", []byte(plain+"\noverride_a: {name: a}\noverride_b: {frontend: {type: sglang}}\n"), ""); err != nil || f.Variants[0].Job.Dialect() != DialectH {
		t.Error(err)
	}
	f, err := Load("f", []byte(text), "zip_override_tp[1]")
	if err != nil {
		t.Fatal(err)
	}
	if j := f.Variants[0].Job; j.GPUs(Aggregated) != 4 || !slices.Equal(j.Benchmark.Concurrencies, []int{8, 32}) || j.TP(Aggregated) != 4 {
		t.Errorf("%+v", j)
	}
}

// TestPlace checks where workers go: their nodes, and their GPUs if they share a node.
func TestPlace(t *testing.T) {
	for resources, want := range map[string]string{
		"agg_nodes: 1, agg_workers: 1":                                                                   "[[0] []]",
		"agg_nodes: 2, agg_workers: 1":                                                                   "[[0 1] []]",
		"agg_nodes: 1, agg_workers: 3, gpus_per_agg: 2":                                                  "[[0] [0 1]] [[0] [2 3]] [[0] [4 5]]",
		"agg_nodes: 2, agg_workers: 2, gpus_per_agg: 2, spread_workers: true":                            "[[0] [0 1]] [[1] [0 1]]",
		"prefill_nodes: 1, decode_nodes: 1, prefill_workers: 1, decode_workers: 2, gpus_per_prefill: 4":  "[[0] [0 1 2 3]] [[1] [0 1 2 3]] [[1] [4 5 6 7]]",
		"prefill_nodes: 1, decode_nodes: 0, prefill_workers: 1, decode_workers: 1, gpus_per_prefill: 4":  "[[0] [0 1 2 3]] [[0] [4 5 6 7]]",
		"prefill_nodes: 1, decode_nodes: 2, prefill_workers: 2, decode_workers: 1, gpus_per_decode: 16":  "[[0] [0 1 2 3]] [[0] [4 5 6 7]] [[1 2] []]",
		"prefill_nodes: 1, decode_nodes: 1, prefill_workers: 1, decode_workers: 1, gpus_per_prefill: 16": "no",
	} {
		f, err := Load("f", []byte(strings.NewReplacer("agg_nodes: 1, agg_workers: 1", resources, "{aggregated: {tp-size: 8}}", "{}").Replace(recipe)), "")
		if err != nil {
			t.Fatal(resources, err)
		}
		placed, ok := f.Variants[0].Job.Place()
		got := "no"
		if ok {
			var all []string
			for _, w := range placed {
				all = append(all, fmt.Sprintf("[%v %v]", w.Nodes, w.GPUs))
			}
			got = strings.Join(all, " ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", resources, got, want)
		}
	}
}

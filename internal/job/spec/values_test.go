package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// aggregated returns a job of aggregated workers with additional lines.
func aggregated(lines ...string) string {
	return "name: agg\nmodel: {path: /models/x, container: /images/x.sqsh, precision: bf16}\n" +
		"resources: {gpu_type: h100, agg_nodes: 2, agg_workers: 1, gpus_per_node: 8}\n" + strings.Join(lines, "\n") + "\n"
}

const flagsOfX = "backend: {sglang_config: {aggregated: {model-path: /model/}}}"

// right returns jobs that Parse accepts.
func right(t testing.TB) []string {
	return []string{
		aggregated(flagsOfX),
		aggregated(flagsOfX, "profiling: {type: nsys, decode: {isl: \"1024\", osl: 1.0e2, concurrency: 4.0}}"),
		aggregated(flagsOfX, "profiling: {type: none}", "benchmark: {type: sa-bench, isl: 1, osl: 2, concurrencies: 1x4x8, req_rate: 2.5}", "slurm: {time_limit: 30}"),
		aggregated(flagsOfX, "extra_mount: [\"/a:/b\", c:d]", "enable_config_dump: no", "slurm:", "benchmark: {concurrencies: [1, \"2\"], type:}"),
		aggregated("sweep: {tp: [1, 2], size: [[1, 2], 3]}", "backend: {sglang_config: {aggregated: {tp-size: \"{tp}\", cuda-graph-bs: {size}, a: \"x-{tp}\"}}}"),
		changed(t, "backend:\n", "backend:\n  type: stepscope\n", "  container: \"0.5.5\"\n", "", `"gb200"`, "cpu"),
		changed(t, "backend:\n", "backend:\n  gpu_type: x\n  enable_multiple_frontends: false\n  num_additional_frontends: 0\n  prefill_environment: {A: 1, B: \"\", C: true}\n"),
		changed(t, "    isl: 1024\n    osl: 128\n    concurrency: 24\n", "    <<: &load {isl: 1024, osl: 128, concurrency: 24}\n", "    isl: 1024\n    osl: 128\n    concurrency: 256\n", "    <<: *load\n"),
	}
}

// TestForms checks that values in unusual forms are accepted with a note.
func TestForms(t *testing.T) {
	text := aggregated(
		"backend:", "  aggregated_environment: {A: 1800, B: \"x y\", C: true, D: 0.50}",
		"  sglang_config:", "    aggregated:", "      tp-size: 8", "      trust-remote-code: yes", "      disable-radix-cache: false", "      mem-fraction-static: 0.9",
		"      cuda-graph-bs: [1, 2, 4]", "      watchdog-timeout: \"1e6\"", "      served-model-name: a b", "      x: 1.0", "      y: 0.00001", "      z: \"no\"",
		"profiling: {type: torch, prefill: {isl: 1, osl: 1, concurrency: 1}, decode: {isl: \"1024\", osl: 128.0, concurrency: 0x10}}",
		"enable_config_dump: Off", "slurm: {time_limit: 60, account: 7}",
	)
	j, notes, err := Parse("j", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, f := range j.Backend.Config[Aggregated] {
		args = append(args, strings.Join(f.Args(), " "))
	}
	wantArgs := []string{
		"--cuda-graph-bs 1 2 4", "", "--mem-fraction-static 0.9", "--served-model-name a b", "--tp-size 8", "--trust-remote-code",
		"--watchdog-timeout 1e6", "--x 1.0", "--y 1e-05", "--z no",
	}
	if !slices.Equal(args, wantArgs) {
		t.Errorf("flags\n%q, want\n%q", args, wantArgs)
	}
	if want := []Setting{{"A", "1800"}, {"B", "x y"}, {"C", "true"}, {"D", "0.50"}}; !reflect.DeepEqual(j.Backend.Environment[Aggregated], want) {
		t.Errorf("%v, want %v", j.Backend.Environment[Aggregated], want)
	}
	if p := *j.Phase(Aggregated); p != (Phase{1024, 128, 16, 0, 50}) || j.Disaggregated() || j.Nodes(Aggregated) != 2 || j.EnableConfigDump || j.Slurm.TimeLimit != "60" {
		t.Errorf("%+v, %+v", p, j)
	}
	want := []string{
		"9:7: backend.sglang_config.aggregated.trust-remote-code: yes is read as true, as srtctl reads it",
		"18:26: profiling.prefill is not used: aggregated workers are recorded by profiling.decode",
		`18:83: profiling.decode.isl: the string "1024" is read as the number 1024`,
		"19:21: enable_config_dump: Off is read as false, as srtctl reads it",
	}
	if got := texts(notes); !slices.Equal(got, want) {
		t.Errorf("notes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPhaseLeftOut checks that a phase that is left out is not recorded, and that values which no phase reads are noted.
func TestPhaseLeftOut(t *testing.T) {
	j, _, err := Parse("j", []byte(changed(t, prefillPhase, "")))
	if err != nil || j.Phase(Prefill) != nil || j.Phase(Decode) == nil {
		t.Errorf("%v: %+v", err, j)
	}
	j, notes, err := Parse("j", []byte(changed(t, `type: "torch"`, "type: none", `type: "manual"`, "type: mmlu")))
	if err != nil || j.Phase(Prefill) != nil || j.Recorded() || !j.EnableConfigDump || len(notes) != 2 {
		t.Errorf("%v: %+v %v", err, j, notes)
	}
}

package job_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

const pdTree = `JOB.json
analysis_all-decode-*.*-6100.html
analysis_all-prefill-*.*-6100.html
analysis_all.html
analysis_all.txt
analysis_decode_w0.html
analysis_decode_w0.json
analysis_decode_w0.txt
analysis_decode_w1.html
analysis_decode_w1.json
analysis_decode_w1.txt
analysis_prefill.html
analysis_prefill.json
analysis_prefill.txt
bench_all.jsonl
config.yaml
log.out
merged_decode_w0.trace.json.gz
merged_decode_w1.trace.json.gz
merged_prefill.trace.json.gz
node1_prefill_w0.out
node1_router_0.out
node2_decode_w0.out
node3_decode_w1.out
profile_all.out
profiles/decode/w0/*-TP-0.trace.json.gz
profiles/decode/w1/*-TP-0.trace.json.gz
profiles/prefill/*-TP-0.trace.json.gz
profiles/prefill/*-TP-1.trace.json.gz
sbatch_script.sh
sglang_config.yaml
state.json`

// paired checks the outcome of testdata/today-pd.yaml: one load, one run, and for each worker the window of its role.
func paired(t *testing.T, e *ended) {
	t.Helper()
	if e.status != 0 || len(e.state.Lacks) > 0 || len(e.state.Runs) != 1 {
		load, _ := os.ReadFile(filepath.Join(e.dir, "profile_all.out"))
		t.Fatalf("status %d, %+v\n%s\n%s", e.status, e.state, e.out, load)
	}
	for name, want := range map[string]int{"prefill": 6, "decode_w0": 20, "decode_w1": 20} {
		if n := e.steps(t, name); n != want {
			t.Errorf("%s: %d steps, want %d", name, n, want)
		}
	}
	text := read(t, filepath.Join(e.dir, "analysis_prefill.txt"))
	if !strings.Contains(text, "2 ranks · 6 prefill steps") {
		t.Errorf("prefill:\n%s", text)
	}
	if text := read(t, filepath.Join(e.dir, "analysis_decode_w1.txt")); !strings.Contains(text, "20 decode steps") {
		t.Errorf("decode_w1:\n%s", text)
	}
	if text := read(t, filepath.Join(e.dir, "analysis_all.txt")); !strings.Contains(text, "Prefill-decode disaggregation") {
		t.Errorf("all:\n%s", text)
	}
}

// TestRouter runs files of today's format with several workers on this machine.
func TestRouter(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	pd := read(t, "testdata/today-pd.yaml")
	sglang := strings.NewReplacer("type: stepscope\n", "type: sglang\n", `"builtin:llama-tiny"`, `"builtin:llama-tiny", container: "x:y"`, "gpu_type: cpu", "gpu_type: h100")
	// server is a python3 with SGLang's command line that runs the embedded server.
	const server = `case "$1 $2" in "-m sglang.launch_server") ;; *) exit 9 ;; esac
shift 2
for a; do
	shift
	case $was in --nccl-port) was=; continue ;; esac
	was=$a
	case $a in --nccl-port) continue ;; 0.0.0.0) a=127.0.0.1 ;; esac
	set -- "$@" "$a"
done
echo "node $WHO, GPUs $CUDA_VISIBLE_DEVICES"
exec PROGRAM serve "$@"`

	t.Run("SGLang's command lines", func(t *testing.T) {
		p := &place{t: t, logs: t.TempDir(), path: standIn(t, server)}
		e := p.apply(sglang.Replace(pd), nil)
		paired(t, e)
		for name, want := range map[string]string{"prefill_w0": "node 0, GPUs 0,1\n", "decode_w0": "node 1, GPUs 2,3\n", "decode_w1": "node 2, GPUs 4,5\n"} {
			files, _ := filepath.Glob(filepath.Join(e.dir, "*_"+name+".out"))
			if len(files) != 1 || !strings.HasPrefix(read(t, files[0]), want) {
				t.Errorf("%s: %q does not begin with %q", name, files, want)
			}
		}
	})
	t.Run("nsys", func(t *testing.T) {
		p := &place{t: t, logs: t.TempDir(), path: nsys(t)}
		e := p.apply(strings.Replace(pd, "type: torch", "type: nsys", 1), nil)
		if e.status != 0 || e.steps(t, "prefill") != 6 || e.steps(t, "decode_w0") != 20 || e.steps(t, "decode_w1") != 20 {
			t.Errorf("status %d\n%s", e.status, e.out)
		}
	})
	t.Run("aggregated", func(t *testing.T) {
		e := (&place{t: t, logs: t.TempDir()}).apply(strings.NewReplacer(
			"prefill_nodes: 1, decode_nodes: 2, prefill_workers: 1, decode_workers: 2", "agg_nodes: 1, agg_workers: 2",
			"    prefill: {tp-size: 2, max-total-tokens: 8192}\n    decode:", "    aggregated:",
			"  prefill: {start_step: 3, stop_step: 9}\n  decode:", "  aggregated:").Replace(pd), nil)
		if e.status != 0 || e.steps(t, "agg_w0") != 20 || e.steps(t, "agg_w1") != 20 || len(e.state.Runs) != 1 {
			t.Errorf("status %d\n%s", e.status, e.out)
		}
		if pages, _ := filepath.Glob(filepath.Join(e.dir, "analysis_all*")); len(pages) > 0 {
			t.Errorf("no pair, but a report of pairs: %q", pages)
		}
	})
	for _, c := range []struct{ name, change, of, says string }{
		{"a worker fails", "*'mode decode'*) echo no such backend; exit 3 ;;", "decode_w", "failed: exit status 3"},
		{"a worker is not ready", "*'mode decode'*) echo loading weights; exec sleep 1000 ;;", "decode_w", "is not ready after 3s"},
		{"no worker is ready", "*launch_server*) echo loading weights; exec sleep 1000 ;;", "prefill_w0", "is not ready after 3s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &place{t: t, logs: t.TempDir(), path: standIn(t, `case "$*" in `+c.change+" esac\n"+server)}
			e := p.apply(sglang.Replace(pd), nil, "--ready-timeout=3s")
			if e.status != 10 || e.state.Failure == nil || !strings.HasPrefix(e.state.Failure.What, c.of) || !strings.Contains(e.state.Failure.What, c.says) {
				t.Errorf("status %d, %+v\n%s", e.status, e.state.Failure, e.out)
			}
		})
	}
}

// TestDevices checks that workers on this machine share the GPUs that the user has chosen.
func TestDevices(t *testing.T) {
	text := strings.NewReplacer("type: stepscope\n", "type: sglang\n", "gpu_type: cpu", "gpu_type: h100", `"builtin:llama-tiny"`, `/m, container: "x:y"`).Replace(read(t, "testdata/today-pd.yaml"))
	j, _, err := spec.Parse("pd", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		devices string
		want    string // of decode_w1; "": there are too few
	}{
		{"", "CUDA_VISIBLE_DEVICES=4,5"},
		{"2,3,4,5,6,GPU-ab", "CUDA_VISIBLE_DEVICES=6,GPU-ab"},
		{"2,3,4,5,6", ""},
	} {
		t.Setenv("CUDA_VISIBLE_DEVICES", c.devices)
		p := job.NewPlan(j, "stepscope", true)
		if err := p.Check(); (err == nil) != (c.want != "") {
			t.Errorf("%v: %v", c.devices, err)
		}
		if env := p.Server(&p.Workers[2], 0, "", "a", "a").Env; c.want != "" && !slices.Contains(env, c.want) {
			t.Errorf("%v: %q, want %s", c.devices, env, c.want)
		}
	}
}

// TestPrompts checks that a load lasts until the windows end, and that a large batch of prompts does not count as one
// step of a prefill worker.
func TestPrompts(t *testing.T) {
	pair := read(t, "testdata/today-pair.yaml")
	for name, c := range map[string]struct {
		change []string
		want   [3]int // two prefill workers, one decode worker
	}{
		"benchmark's own number": {nil, [3]int{320, 320, 320}},
		"long prefill window":    {[]string{"stop_step: 15", "stop_step: 115"}, [3]int{32 + 2*(116*16384/2048+1), 32 + 2*(116*16384/2048+1), 320}},
		"small chunks":           {[]string{"stop_step: 15", "stop_step: 115", "tp_size: 4,", "tp_size: 4, chunked_prefill_size: 4096,"}, [3]int{32 + 2*(116*4096/2048+1), 32 + 2*(116*4096/2048+1), 320}},
		"chunks as text":         {[]string{"stop_step: 15", "stop_step: 115", "tp_size: 4,", "tp_size: 4, chunked_prefill_size: '4096',"}, [3]int{32 + 2*(116*4096/2048+1), 32 + 2*(116*4096/2048+1), 320}},
		"data parallel":          {[]string{"stop_step: 15", "stop_step: 115", "tp_size: 4,", "tp_size: 4, dp: '2', chunked_prefill_size: 4096,"}, [3]int{32 + 2*(116*8192/2048+1), 32 + 2*(116*8192/2048+1), 320}},
		"a batch takes one step": {[]string{"stop_step: 15", "stop_step: 115", "isl: 2048", "isl: 16"}, [3]int{116 * 32, 116 * 32, 320}},
		"long decode window":     {[]string{"stop_step: 140", "stop_step: 12700"}, [3]int{320, 320, 101 * 32}},
		"few requests at a time": {[]string{"[32]", "[1]"}, [3]int{128, 128, 128}},
	} {
		j, _, err := spec.Parse(name, []byte(strings.NewReplacer(c.change...).Replace(pair)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, ph := range job.NewPlan(j, "stepscope", false).Phases {
			if ph.Prompts != c.want[i] {
				t.Errorf("%s: %d prompts for %s, want %d", name, ph.Prompts, ph.Name, c.want[i])
			}
		}
	}
}

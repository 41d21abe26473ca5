package job_test

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// odd has values that another parser, a shell or sbatch could misinterpret.
const odd = `name: "it's #1 $(touch x) a\\b"
model: {path: "/models/a b", container: "reg:5000/sglang:1", precision: fp8}
resources: {gpu_type: h100, gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}
slurm: {account: "r&d", partition: "a,b", time_limit: "1-00:00:00"}
backend:
  aggregated_environment: {WORDS: "a\nEND_OF_JOB\n$(touch x)", QUOTE: "'\"` + "`" + `é☃"}
  sglang_config:
    aggregated:
      model-path: /model/
      one: 1.0
      small: 1.0e-6
      large: 1.0e+20
      text: "1.0"
      json: '{"a": [1, 2]}'
      many: [1, 0.5, "x y", true]
      no: false
benchmark: {type: sa-bench, isl: 8, osl: 9, concurrencies: 1x4, req_rate: 2.5}
extra_mount: ["/a b:/c"]
`

// TestConfig checks that the effective file matches the job's own file, also when a node parses it again.
func TestConfig(t *testing.T) {
	first, _, err := spec.Parse("odd.yaml", []byte(odd))
	if err != nil {
		t.Fatal(err)
	}
	text := job.Config(first)
	again, _, err := spec.Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	type said struct {
		Name       string
		Model      spec.Model
		Resources  spec.Resources
		Slurm      spec.Slurm
		Backend    spec.Backend
		Benchmark  spec.Benchmark
		ExtraMount []spec.Mount
	}
	of := func(j *spec.Job) said {
		return said{j.Name, j.Model, j.Resources, j.Slurm, j.Backend, j.Benchmark, j.ExtraMount}
	}
	if !reflect.DeepEqual(of(first), of(again)) {
		t.Errorf("%+v\nis parsed again as\n%+v", of(first), of(again))
	}
}

// TestScript checks that no value ends the job's file in the batch script or is executed.
func TestScript(t *testing.T) {
	j, _, err := spec.Parse("odd.yaml", []byte(odd))
	if err != nil {
		t.Fatal(err)
	}
	p := job.NewPlan(j, "/opt/my tools/stepscope", false)
	p.Preamble = "export A='b'\nulimit -n 1\n"
	dir := t.TempDir() + "/a b@c'$(touch x)"
	text := p.Script(job.Slurm{Root: dir, At: time.Now(), Directives: []string{"--comment=a #b"}})
	for _, line := range []string{`#SBATCH --job-name='it'\''s #1 $(touch x) a\\b'`, `#SBATCH --account='r&d'`, `#SBATCH '--comment=a #b'`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	// Run the script with a shell, with a program in place of stepscope that prints its input.
	shown := strings.NewReplacer(`exec '/opt/my tools/stepscope'`, `printf '%s\n'`, ` - <<`, ` ; cat <<`, `exec >>"$dir/log.out" 2>&1`, `cd "$dir"`).Replace(text)
	cmd := exec.Command("bash", "-c", shown)
	cmd.Env = []string{"SLURM_JOB_ID=7", "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	want := "--dir=" + dir + "/7_1A_"
	if !strings.Contains(string(out), want) || !strings.HasSuffix(string(out), job.Config(j)) || !strings.Contains(string(out), "--preamble="+p.Preamble) {
		t.Errorf("a shell prints this, want %s:\n%s", want, out)
	}
	if left, _ := exec.Command("find", dir, "-name", "x").Output(); len(left) > 0 {
		t.Errorf("something in it was executed: %s", left)
	}
}

package job_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// TestTodayConfig checks that the effective file of a job of today's format gives the same commands as the file itself:
// a job on Slurm runs from its effective file.
func TestTodayConfig(t *testing.T) {
	m := strings.NewReplacer("benchmark: {type: sa-bench, isl: 512, osl: 64, concurrencies: \"16\", req_rate: inf, num_prompts_mult: 8, random_range_ratio: 1.0}", "",
		"  type: torch\n", "  type: torch\n  isl: 256\n  osl: 32\n  concurrency: 4\n").Replace(read(t, "spec/testdata/today/ok1-agg-torch.yaml"))
	for name, text := range map[string]string{
		"torch": read(t, "spec/testdata/today/ok1-agg-torch.yaml"), "nsys": read(t, "spec/testdata/today/ok3-nsys.yaml"),
		"vllm": read(t, "testdata/today-vllm.yaml"), "pair": read(t, "testdata/today-pair.yaml"), "M": m,
	} {
		commands := func(text string) (string, *spec.Job) {
			j, _, err := spec.Parse(name, []byte(text))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			p := job.NewPlan(j, "stepscope", false)
			out := fmt.Sprintln(p.Nodes, p.Workers)
			for i := range p.Workers {
				out += fmt.Sprintln(p.Server(&p.Workers[i], 0, "/logs", "HOST", "NODE"))
			}
			for _, l := range p.Loads() {
				out += fmt.Sprintln(p.Load(&l, "/logs", 60))
			}
			return out, j
		}
		want, j := commands(text)
		if got, _ := commands(job.Config(j)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

package job_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

var update = flag.Bool("update", false, "write the golden files")

// TestShow checks the output of a dry run: the complete example of srtctl's profiling document, with its two fragments
// and other changes that affect command lines.
func TestShow(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	example := read(t, "spec/testdata/torch.yaml")
	over := func(fragment string) string {
		begin, rest, _ := strings.Cut(example, "profiling:\n")
		_, end, _ := strings.Cut(rest, "\nbenchmark:")
		return begin + fragment + "\nbenchmark:" + end
	}
	embedded := strings.NewReplacer(`"dsfp8"`, `"builtin:llama-tiny"`, "sglang_config:", "type: stepscope\n  sglang_config:", `model-path: "/model/"`, "tp-size: 2", `  container: "0.5.5"`+"\n", "")
	cluster, _, err := spec.ParseCluster("srtslurm.yaml", []byte(`
default_account: research
default_partition: batch
default_time_limit: "01:00:00"
model_paths: {dsfp8: /data/models/deepseek-fp8, ds-small: /data/models/ds-small}
containers: {"0.5.5": /data/images/sglang-0.5.5.sqsh, sglang-new: /data/images/sglang.sqsh}
use_segment_sbatch_directive: false
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		text  string
		local bool
	}{
		{"torch", example, false},
		{"torch-fragment", over(read(t, "spec/testdata/fragment-torch.yaml")), false},
		{"nsys-fragment", over(read(t, "spec/testdata/fragment-nsys.yaml")), false},
		{"none", over("profiling: {type: none}\n"), false},
		{"embedded-nsys", embedded.Replace(over(read(t, "spec/testdata/fragment-nsys.yaml"))), false},
		{"embedded-local", embedded.Replace(example), true},
		{"two-nodes", read(t, "testdata/two-nodes.yaml"), false},
		{"today-sglang", read(t, "spec/testdata/today/ok1-agg-torch.yaml"), false},
		{"today-nsys", read(t, "spec/testdata/today/ok3-nsys.yaml"), false},
		{"today-vllm", read(t, "testdata/today-vllm.yaml"), false},
		{"today-pair", read(t, "testdata/today-pair.yaml"), false},
		{"today-local", read(t, "spec/testdata/today/ok1-agg-torch.yaml"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, _, err := spec.Parse("job.yaml", []byte(c.text))
			if err == nil {
				err = cluster.Resolve(j)
			}
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
			o := job.Slurm{Root: "/shared/logs", GPUs: j.Backend.Type != spec.StepScope, Ready: 30 * time.Minute, At: at, Follow: true, Token: "TOKEN"}
			job.NewPlan(j, "stepscope", c.local).Show(&got, &o, o.Root)
			golden := filepath.Join("testdata", "show", c.name+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, golden); got.String() != want {
				t.Errorf("%s is\n%s", golden, got.String())
			}
		})
	}
}

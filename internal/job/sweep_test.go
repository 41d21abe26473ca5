package job

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job/spec"
)

// TestReadSweep checks that results are read from the directories of the jobs, that missing figures are unknown, and
// that the known state of a job without files is kept.
func TestReadSweep(t *testing.T) {
	s, err := ReadSweep("testdata/sweep")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		job, outcome string
		status       int
		roles        []Result
	}{
		{"17", "completed", 0, []Result{{spec.Decode, map[string]float64{
			"output_tokens_per_s": 1234.5, "ttft_median_ns": 20.5e6, "ttft_p99_ns": 81.25e6, "tpot_median_ns": 2e6,
			"steps": 4, "step_median_ns": 1.3e6, "compute": 0.5, "wait": 0.25, "idle": 0.2,
		}}}},
		{"18", "failed (worker)", 10, []Result{{spec.Prefill, map[string]float64{"output_tokens_per_s": 99, "ttft_median_ns": 7e6}}}},
		{"", "failed (job)", 1, []Result{}},
		{"", "not started", 0, []Result{}},
	}
	for i, w := range want {
		v := s.Jobs[i]
		if v.Job != w.job || v.Outcome() != w.outcome || v.Status != w.status || !reflect.DeepEqual(v.Roles, w.roles) {
			t.Errorf("%+v, %s; want %+v", v, v.Outcome(), w)
		}
	}
	if s.Status() != 10 || s.Dir != "testdata/sweep" {
		t.Errorf("status %d, dir %s", s.Status(), s.Dir)
	}
	known := map[string]bool{}
	for _, f := range Figures {
		known[f.Name] = true
	}
	for name := range s.Jobs[0].Roles[0].Figures {
		delete(known, name)
	}
	if left := slices.Collect(maps.Keys(known)); !slices.Equal(left, []string{"itl_median_ns"}) {
		t.Errorf("not tested: %q", left)
	}
}

// TestSweepStatus checks that missing results are not a failure.
func TestSweepStatus(t *testing.T) {
	for _, c := range [][]int{{0}, {3, 0, 3}, {11, 3, 11, 12}, {13, 0, 0, 13}} {
		s := &Sweep{}
		for _, status := range c[1:] {
			s.Jobs = append(s.Jobs, Variant{Status: status})
		}
		if s.Status() != c[0] {
			t.Errorf("%v: %d", c, s.Status())
		}
	}
}

// TestArray checks that an array has one task per job if all jobs have the same directives.
func TestArray(t *testing.T) {
	text, err := os.ReadFile("testdata/torch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	script := func(swept string) (string, error) {
		f, err := spec.Load("torch.yaml", []byte(swept), "")
		if err != nil {
			t.Fatal(err)
		}
		variants := f.Variants
		plans, orders := []*Plan{}, []Slurm{}
		for _, v := range variants {
			plans = append(plans, NewPlan(v.Job, "/opt/stepscope", false))
			orders = append(orders, Slurm{Dir: "/logs/sweep/" + v.Name, Ready: time.Minute})
		}
		return ArrayScript(variants[0].Of, plans, orders, 2)
	}
	got, err := script(strings.Replace(string(text), "concurrency: 8", `concurrency: "{load}"`, 1) + "\nsweep: {load: [4, 8, 16]}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"#SBATCH --job-name=profiling-torch\n", "#SBATCH --array=0-2%2\n", "\n2)\ndir=/logs/sweep/job_003_profiling-torch_load16\n", "    concurrency: 16\n", "\nEND_OF_JOB\n;;\nesac\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	_, err = script(strings.Replace(string(text), "prefill_nodes: 1", `prefill_nodes: "{n}"`, 1) + "\nsweep: {n: [1, 2]}\n")
	if err == nil || !strings.Contains(err.Error(), "so they cannot form an array") {
		t.Error(err)
	}
}

package judge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestSlowStage: the finding names a rank whose device takes much longer in a stage, and the stage.
func TestSlowStage(t *testing.T) {
	for _, c := range []struct {
		decoding int // on rank 1; rank 0 takes 300 µs
		want     string
	}{
		{300, ""}, {400, ""},
		{700, "slow_stage-tp01-decoding_stage: slow_stage rank=TP01 stage=decoding_stage more=400000"},
	} {
		dir := t.TempDir()
		for rank, decoding := range []int{300, c.decoding} {
			var s explaintest.Scene
			s.Pipeline(0, decoding)
			s.Write(t, dir, fmt.Sprintf("u-full_stages-global-rank%d.trace.json", rank))
		}
		got := ""
		for _, f := range explaintest.Analyzed(t, explaintest.ReadDir(t, dir)).Findings {
			if f.Kind == "slow_stage" {
				got += f.ID + ": " + f.Title.String()
			}
		}
		if got != c.want {
			t.Errorf("decoding of %d µs on rank 1: got %q, want %q", c.decoding, got, c.want)
		}
	}
}

// TestAskedSteps: the report compares the requested number of steps with those in files of SGLang's diffusion server,
// and the steps after the denoising steps are of another kind.
func TestAskedSteps(t *testing.T) {
	for _, c := range []struct {
		name     string
		steps    int  // of the profiler
		decoding bool // begins in the last one
		want     string
	}{
		{"u-2_steps-global-rank0", 3, false, "asked=2 recorded=3 why=asked_more name=ProfilerStep#3"},
		{"u-2_steps-global-rank0", 3, true, "asked=2 recorded=2 why=asked_after name=ProfilerStep#3"},
		{"u-9_steps-global-rank0", 4, true, "asked=9 recorded=3 why=asked_after name=ProfilerStep#4"},
		{"u-4_steps-global-rank0", 4, false, "asked=4 recorded=4 why=asked_perhaps name=ProfilerStep#4"},
		{"u-full_stages-global-rank0", 4, false, ""},
		{"1763750000-TP-0", 4, false, ""},
	} {
		var s explaintest.Scene
		for i := range c.steps {
			s.Mark(fmt.Sprintf("ProfilerStep#%d", i+1), 100*i, 99)
			s.Kernel("gemm", 100*i+5, 100*i+10, 50)
		}
		if c.decoding {
			s.Mark("STAGE decoding_stage", 100*(c.steps-1)+2, 90)
		}
		dir := t.TempDir()
		s.Write(t, dir, c.name+".trace.json")
		rep := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
		got := ""
		for _, f := range rep.Findings {
			if f.ID == "data-asked" {
				got = strings.TrimPrefix(f.Title.String(), "data-asked ")
			}
		}
		if got != c.want {
			t.Errorf("%s, %d steps: got %q, want %q", c.name, c.steps, got, c.want)
		}
		if last := rep.Steps[len(rep.Steps)-1]; strings.HasPrefix(c.name, "u-") && (last.Kind == "denoising") == c.decoding {
			t.Errorf("%s, %d steps: got kind %s of the last step, want denoising unless decoding begins in it", c.name, c.steps, last.Kind)
		}
	}
}

// TestNoGPU: without recorded GPU work, the report gives advice only if a GPU was used.
func TestNoGPU(t *testing.T) {
	const devices = `"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],`
	for _, c := range []struct {
		calls   int
		devices string
		want    string
	}{
		{0, "", "data-host"},
		{0, `"deviceProperties":[],`, "data-host"},
		{0, devices, "data-host.listed"},
		{2, devices, "data-host.used n=2"},
		{1, "", "data-host.used n=1"},
	} {
		var s explaintest.Scene
		s.Mark("denoising_step_0_t1000", 0, 100)
		s.Span("cpu_op", "aten::mm", 5, 50, "")
		for i := range c.calls {
			s.Span("cuda_runtime", "cudaStreamSynchronize", 60+5*i, 2, "")
		}
		dir := t.TempDir()
		s.Head = c.devices
		s.Write(t, dir, "u-full_stages-global-rank0.trace.json")
		got := ""
		for _, f := range explaintest.Analyzed(t, explaintest.ReadDir(t, dir)).Findings {
			if f.ID == "data-host" {
				got = f.Title.String()
			}
		}
		if got != c.want {
			t.Errorf("%d CUDA calls, devices %q: got %s, want %s", c.calls, c.devices, got, c.want)
		}
	}
	var s explaintest.Scene
	s.Span("cuda_runtime", "cudaStreamSynchronize", 60, 2, "")
	dir := t.TempDir()
	s.Write(t, dir, "u-full_stages-global-rank0.trace.json")
	if _, err := explain.Analyze(explaintest.ReadDir(t, dir), explain.Options{}); !errors.Is(err, explain.ErrNothing) || !strings.Contains(err.Error(), "--trace-fork-before-exec") {
		t.Errorf("no GPU work but CUDA calls: got error %v, want ErrNothing with advice", err)
	}
}

package explain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// scene is a rank's file, event by event, with times in µs.
type scene struct {
	head   string // of the file, without its events
	events []string
	corr   int
}

func (s *scene) span(cat, name string, ts, dur int, args string) {
	s.events = append(s.events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":9,"tid":1,"ts":%d,"dur":%d,"args":{%s}}`, cat, name, ts, dur, args))
}

// mark adds an annotation.
func (s *scene) mark(name string, ts, dur int) { s.span("user_annotation", name, ts, dur, "") }

// kernel adds a kernel with its launch time, start and duration.
func (s *scene) kernel(name string, launched, ts, dur int) {
	s.corr++
	s.span("cuda_runtime", "cudaLaunchKernel", launched, 2, fmt.Sprintf(`"correlation":%d`, s.corr))
	s.events = append(s.events, fmt.Sprintf(
		`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7,"correlation":%d}}`, name, ts, dur, s.corr))
}

// write writes the file under a server's file name.
func (s *scene) write(t *testing.T, dir, name string) {
	t.Helper()
	text := `{"baseTimeNanoseconds":1700000000000000000,` + s.head + `"traceEvents":[` + strings.Join(s.events, ",\n") + `]}`
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pipeline adds a request: encoding of 100 µs, four steps of 100 µs each, and decoding of the given length.
func (s *scene) pipeline(at, decoding int) {
	const allReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	s.mark("STAGE TextEncodingStage", at, 100)
	s.kernel("gemm", at+5, at+10, 60)
	s.mark("STAGE denoising_stage", at+100, 400)
	for i := range 4 {
		from := at + 100 + 100*i
		s.mark(fmt.Sprintf("denoising_step_%d_t%d", i, 1000-10*i), from, 99)
		s.kernel("gemm", from+2, from+10, 50)
		s.kernel(allReduce, from+5, from+60, 20)
	}
	s.mark("STAGE decoding_stage", at+500, decoding)
	s.mark("stage_decoding_stage", at+501, decoding-2) // the range of the layer-wise markers, inside the stage
	s.kernel("conv", at+510, at+520, decoding-50)
}

// TestStages: a table gives the time of each stage on each rank, and the last step ends with its stage.
func TestStages(t *testing.T) {
	var a, b scene
	for _, at := range []int{0, 1000} {
		a.pipeline(at, 300)
		b.pipeline(at, 350)
	}
	dir := t.TempDir()
	a.write(t, dir, "u-full_stages-global-rank0.trace.json")
	b.write(t, dir, "u-full_stages-global-rank1.trace.json")
	rep := analyzed(t, readDir(t, dir))
	want := []result.StageRow{
		{Stage: "TextEncodingStage", Host: 200, Busy: 120, Idle: 80, Own: 200},
		{Stage: "TextEncodingStage", Rank: 1, Host: 200, Busy: 120, Idle: 80, Own: 200},
		{Stage: "denoising_stage", Host: 800, Busy: 560, Idle: 240, Own: 800},
		{Stage: "denoising_stage", Rank: 1, Host: 800, Busy: 560, Idle: 240, Own: 800},
		{Stage: "decoding_stage", Host: 600, Busy: 500, Idle: 100, Own: 600},
		{Stage: "decoding_stage", Rank: 1, Host: 700, Busy: 600, Idle: 100, Own: 700, Beyond: 100},
	}
	if len(rep.Stages) != len(want) {
		t.Fatalf("got %d stage rows, want %d: %+v", len(rep.Stages), len(want), rep.Stages)
	}
	for i, w := range want {
		w.Count, w.Share = 2, float64(w.Host)/float64([]int64{1600, 1700}[w.Rank])
		for _, ns := range []*int64{&w.Host, &w.Busy, &w.Idle, &w.Own, &w.Beyond} {
			*ns *= 1000
		}
		if rep.Stages[i] != w {
			t.Errorf("stage row %d: got %+v, want %+v", i, rep.Stages[i], w)
		}
	}
	for _, s := range rep.Steps {
		if p := s.Ranks[0].Period; s.Kind != "denoising" || p != 100_000 {
			t.Errorf("step %d: got kind %s, %d ns, want denoising, 100 µs", s.Step, s.Kind, p)
		}
	}
	for _, f := range rep.Findings {
		if f.Kind == result.SlowStep {
			t.Errorf("got slow step %s, want none", f.Title)
		}
	}
}

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
			var s scene
			s.pipeline(0, decoding)
			s.write(t, dir, fmt.Sprintf("u-full_stages-global-rank%d.trace.json", rank))
		}
		got := ""
		for _, f := range analyzed(t, readDir(t, dir)).Findings {
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
		var s scene
		for i := range c.steps {
			s.mark(fmt.Sprintf("ProfilerStep#%d", i+1), 100*i, 99)
			s.kernel("gemm", 100*i+5, 100*i+10, 50)
		}
		if c.decoding {
			s.mark("STAGE decoding_stage", 100*(c.steps-1)+2, 90)
		}
		dir := t.TempDir()
		s.write(t, dir, c.name+".trace.json")
		rep := analyzed(t, readDir(t, dir))
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
		var s scene
		s.mark("denoising_step_0_t1000", 0, 100)
		s.span("cpu_op", "aten::mm", 5, 50, "")
		for i := range c.calls {
			s.span("cuda_runtime", "cudaStreamSynchronize", 60+5*i, 2, "")
		}
		dir := t.TempDir()
		s.head = c.devices
		s.write(t, dir, "u-full_stages-global-rank0.trace.json")
		got := ""
		for _, f := range analyzed(t, readDir(t, dir)).Findings {
			if f.ID == "data-host" {
				got = f.Title.String()
			}
		}
		if got != c.want {
			t.Errorf("%d CUDA calls, devices %q: got %s, want %s", c.calls, c.devices, got, c.want)
		}
	}
	var s scene
	s.span("cuda_runtime", "cudaStreamSynchronize", 60, 2, "")
	dir := t.TempDir()
	s.write(t, dir, "u-full_stages-global-rank0.trace.json")
	if _, err := Analyze(readDir(t, dir), Options{}); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "--trace-fork-before-exec") {
		t.Errorf("no GPU work but CUDA calls: got error %v, want ErrNothing with advice", err)
	}
}

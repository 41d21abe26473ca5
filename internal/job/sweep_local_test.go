package job_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
)

const sweepYAML = `name: tiny
model: {path: "builtin:llama-tiny", precision: bf16}
resources: {gpu_type: cpu, gpus_per_node: 1, agg_nodes: 1, agg_workers: 1}
slurm: {time_limit: "5"}
backend:
  type: stepscope
  sglang_config:
    aggregated: {max-total-tokens: "{tokens}"}
profiling:
  type: torch
  decode: {isl: 96, osl: 8, concurrency: 2, start_step: 2, stop_step: STOP}
sweep: {tokens: TOKENS}
`

// swept runs a sweep to its end and returns its results and output; during is called when the first load has begun.
func swept(t *testing.T, command func(name string, args ...string) *exec.Cmd, logs, tokens, stop string, during func(*exec.Cmd), flags ...string) (s *job.Sweep, status int, stdout, stderr string) {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	if err := os.WriteFile(file, []byte(strings.NewReplacer("TOKENS", tokens, "STOP", stop).Replace(sweepYAML)), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := command(bin, append([]string{"job", "apply", file, "-o", logs, "--run-dir", filepath.Join(t.TempDir(), "runs")}, flags...)...)
	var out bytes.Buffer
	w := &watcher{text: "their windows begin"}
	if during != nil {
		w.do = func() { during(cmd) }
	}
	cmd.Stdout, cmd.Stderr = &out, w
	ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
	defer done()
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	cmd.Run()
	w.mu.Lock()
	defer w.mu.Unlock()
	dirs, _ := filepath.Glob(filepath.Join(logs, "tiny_sweep_*"))
	if len(dirs) == 0 {
		t.Fatalf("no sweep was started\n%s", w.all.String())
	}
	if s, err = job.ReadSweep(dirs[len(dirs)-1]); err != nil {
		t.Fatal(err)
	}
	(&place{t: t}).clean(&ended{dir: s.Dir})
	return s, cmd.ProcessState.ExitCode(), out.String(), w.all.String()
}

// TestSweepHere checks that the jobs of a sweep run side by side on this machine, that a failure does not end the
// others, and that one table compares them.
func TestSweepHere(t *testing.T) {
	logs := t.TempDir()
	s, status, stdout, stderr := swept(t, exec.Command, logs, "[4096, 64, 8192]", "12", nil, "--on=local", "--parallel=2", "--json")
	var told job.Sweep
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || status != 11 || len(told.Jobs) != 3 {
		t.Fatalf("status %d, %v\n%s%s", status, err, stdout, stderr)
	}
	for i, want := range []string{"completed", "failed (load)", "completed"} {
		v := s.Jobs[i]
		if v.Outcome() != want || v.Failure != nil && !strings.Contains(v.Failure.What, "longer than the KV cache (64 tokens)") {
			t.Errorf("%s: %s, want %s: %+v", v.Name, v.Outcome(), want, v.Failure)
		}
		if v.Failure != nil {
			continue
		}
		f := map[string]float64{}
		for _, r := range v.Roles {
			f = r.Figures
		}
		if f["steps"] != 10 || f["output_tokens_per_s"] <= 0 || f["ttft_p99_ns"] < f["ttft_median_ns"] || f["step_median_ns"] <= 0 || f["compute"] <= 0 {
			t.Errorf("%s: %v", v.Name, f)
		}
	}
	if page, err := os.ReadFile(filepath.Join(s.Dir, "sweep.html")); err != nil || !bytes.Contains(page, []byte("plot-aggregated-0")) {
		t.Error("no page with plots:", err)
	}
	if all, err := job.Jobs(logs); err != nil || len(all) != 3 {
		t.Errorf("%d jobs are found, %v", len(all), err)
	}
}

// TestSweepInterrupted checks that Ctrl-C, or a lost SSH session, ends all running jobs and starts no others.
func TestSweepInterrupted(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		s, status, _, stderr := swept(t, exec.Command, t.TempDir(), "[4096, 8192, 16384]", "20000", func(cmd *exec.Cmd) { cmd.Process.Signal(sig) }, "--on=local", "--parallel=2")
		if status != 13 || s.Jobs[0].Stage != job.Cancelled || s.Jobs[1].Stage != job.Cancelled || s.Jobs[2].Outcome() != "not started" {
			t.Errorf("%v: status %d, %+v\n%s", sig, status, s.Jobs, stderr)
		}
	}
}

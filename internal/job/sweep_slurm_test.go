package job_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/testing/slurmtest"
)

// outcomes checks the results of a sweep whose second job fails.
func outcomes(t *testing.T, s *job.Sweep, said string) {
	t.Helper()
	for i, v := range s.Jobs {
		if want := []string{"completed", "failed (load)", "completed"}[i]; v.Outcome() != want {
			t.Errorf("%s: %s, want %s", v.Name, v.Outcome(), want)
		}
		if steps := 0.0; v.Failure == nil {
			for _, r := range v.Roles {
				steps = r.Figures["steps"]
			}
			if steps != 10 {
				t.Errorf("%s: %v steps", v.Name, steps)
			}
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}

// TestSlurmSweep checks that the jobs of a sweep run side by side as Slurm jobs, on nodes that share no directory, in
// an allocation, and as an array.
func TestSlurmSweep(t *testing.T) {
	t.Parallel()
	own, shared := t.TempDir(), t.TempDir()
	c := slurmtest.Start(t, slurmtest.Options{Tmpfs: []string{own}})
	const tokens = "[4096, 64, 8192]"

	t.Run("jobs", func(t *testing.T) {
		s, status, _, stderr := swept(t, c.Command, own, tokens, "12", nil, "--parallel=2")
		if outcomes(t, s, stderr); status != 11 {
			t.Errorf("status %d", status)
		}
	})
	t.Run("allocation", func(t *testing.T) {
		salloc := func(name string, args ...string) *exec.Cmd {
			return c.Command("salloc", append([]string{"--nodes=2", "--quiet", name}, args...)...)
		}
		s, status, _, stderr := swept(t, salloc, filepath.Join(own, "in"), tokens, "12", nil, "--parallel=3")
		if outcomes(t, s, stderr); status != 11 {
			t.Errorf("status %d", status)
		}
		var at []string // the nodes of each job
		for _, v := range s.Jobs {
			state, err := job.Read(filepath.Join(s.Dir, v.Name))
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, state.Nodes[0].Name)
		}
		if at[0] == at[1] || !slices.Contains(at[:2], at[2]) {
			t.Errorf("the jobs were on %q", at)
		}
	})
	t.Run("array", func(t *testing.T) {
		s, status, stdout, stderr := swept(t, c.Command, shared, tokens, "12", nil, "--parallel=2", "--detach")
		if status != 0 {
			t.Fatalf("status %d\n%s", status, stderr)
		}
		c.Wait(strings.TrimSpace(stdout), time.Minute)
		bin, _ := program()
		cmd := c.Command(bin, "job", "sweep", s.Dir)
		said, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != 11 || !strings.Contains(string(said), "8192  completed") {
			t.Errorf("status %d\n%s", status, said)
		}
		s, err := job.ReadSweep(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		outcomes(t, s, string(said))
		if id := strings.TrimSpace(stdout) + "_2"; s.Jobs[2].Job != id {
			t.Errorf("the third is %s, want %s", s.Jobs[2].Job, id)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		s, status, _, stderr := swept(t, c.Command, filepath.Join(own, "cut"), tokens, "20000", func(cmd *exec.Cmd) { cmd.Process.Signal(os.Interrupt) }, "--parallel=1")
		if status != 13 || s.Jobs[0].Stage != job.Cancelled || s.Jobs[1].Outcome() != "not started" {
			t.Errorf("status %d, %+v\n%s", status, s.Jobs, stderr)
		}
		if _, err := os.Stat(filepath.Join(s.Dir, s.Jobs[0].Name, "log.out")); err != nil {
			t.Error("the partial results are missing:", err)
		}
		c.Wait(s.Jobs[0].Job, time.Minute) // Slurm notices the end of a script a moment after it
		if left, _ := c.Command("squeue", "--noheader").Output(); len(left) > 0 {
			t.Errorf("Slurm still has %s", left)
		}
	})
}

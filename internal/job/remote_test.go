package job_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/job"
)

// TestCancelInAllocation checks that canceling a job that a process runs in an allocation ends that process but not the
// allocation, which belongs to the user.
func TestCancelInAllocation(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"scancel":  "#!/bin/sh\ntouch " + bin + "/cancelled\n",
		"scontrol": "#!/bin/sh\necho 'JobId=7 JobName=x UserId=u JobState=RUNNING Reason=None NodeList=n1'\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	conductor := exec.Command("sleep", "100")
	if err := conductor.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { conductor.Wait(); close(gone) }()
	host, _ := os.Hostname()
	s := &job.State{Job: "7", On: "allocation", Stage: job.Loading, Host: host, PID: conductor.Process.Pid, Dir: dir}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if job.Ask(t.Context(), s); s.Stage != job.Loading {
		t.Errorf("it runs, but its stage is %s", s.Stage)
	}
	s, err = job.Cancel(t.Context(), s, 10*time.Second, func(string) {})
	if err != nil || !s.Stage.Ended() {
		t.Errorf("%+v, %v", s, err)
	}
	<-gone
	if _, err := os.Stat(filepath.Join(bin, "cancelled")); err == nil {
		t.Error("the allocation was cancelled")
	}
}

// TestForget checks that a directory with the job's own state is not removed as a node's copy.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	if _, err := job.Prepare(dir, "word", "", "", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := job.Forget(dir, "word"); err == nil {
		t.Error("it was removed")
	}
	os.Remove(filepath.Join(dir, "state.json"))
	if err := job.Forget(dir, "other"); err == nil {
		t.Error("another job removed it")
	}
	if err := job.Forget(dir, "word"); err != nil {
		t.Error(err)
	}
}

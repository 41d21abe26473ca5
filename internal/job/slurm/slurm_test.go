package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake puts a program first in PATH that records its arguments and then runs a script.
func fake(t *testing.T, dir, name, script string) {
	t.Helper()
	text := "#!/bin/sh\n" + `printf '%s\n' "$@" >"` + filepath.Join(dir, name+".args") + "\"\n" + script
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestSubmit(t *testing.T) {
	for _, c := range []struct{ script, id, err string }{
		{`cat >/dev/null; echo 4711`, "4711", ""},
		{`cat >/dev/null; echo "welcome to the site"; echo "4711;east"`, "4711", ""},
		{`echo "sbatch: lua: checked" >&2; echo 12`, "12", ""},
		{`echo "sbatch: error: invalid partition specified: x" >&2; echo "sbatch: error: Batch job submission failed" >&2; exit 1`, "",
			"sbatch: invalid partition specified: x"},
		{`echo "sbatch: error: fetch_config: DNS SRV lookup failed" >&2; echo "sbatch: fatal: Could not establish a configuration source" >&2; exit 1`, "",
			"sbatch: Could not establish a configuration source"},
		{`exit 7`, "", "sbatch: exit status 7"},
		{`echo fine`, "", `sbatch: its output has no job id: "fine\n"`},
	} {
		dir := t.TempDir()
		fake(t, dir, "sbatch", c.script)
		id, err := Submit(t.Context(), "#!/bin/sh\ntrue\n", "--nodes=2")
		if id != c.id || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %q, %v", c.script, id, err)
		}
		if args, _ := os.ReadFile(filepath.Join(dir, "sbatch.args")); string(args) != "--parsable\n--nodes=2\n" {
			t.Errorf("called with %q", args)
		}
	}
}

// Output of Slurm 22.05's scontrol for an array whose last task is pending, and for a job with a strange name that a
// node failure ended.
const jobs = `JobId=1 ArrayJobId=1 ArrayTaskId=2-9%2 ArrayTaskThrottle=2 JobName=wrap UserId=root(0) JobState=PENDING Reason=JobArrayTaskLimit Requeue=1 ExitCode=0:0 ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes=1
JobId=3 ArrayJobId=1 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=wrap UserId=root(0) JobState=RUNNING Reason=None ExitCode=0:0 ReqNodeList=(null) NodeList=node1 BatchHost=node1 Comment=JobState=FAILED
JobId=4 JobName=a JobState=RUNNING Reason=x UserId=root(0) JobState=NODE_FAIL Reason=NodeDown ExitCode=0:15 NodeList=node[1-2]

`

func TestStates(t *testing.T) {
	fake(t, t.TempDir(), "scontrol", "cat <<'E'\n"+jobs+"E\n")
	got, err := States(t.Context(), "1")
	want := []State{
		{ID: "1", Task: "2-9", Is: "PENDING", Reason: "JobArrayTaskLimit"},
		{ID: "3", Task: "1", Is: "RUNNING", Nodes: "node1"},
		{ID: "4", Is: "NODE_FAIL", Reason: "NodeDown", Nodes: "node[1-2]", Signal: 15},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for i, ended := range []bool{false, false, true} {
		if got[i].Ended() != ended {
			t.Errorf("%+v: ended %v", got[i], !ended)
		}
	}
}

// TestForgotten checks that accounting is asked about jobs that the controller has forgotten.
func TestForgotten(t *testing.T) {
	dir := t.TempDir()
	fake(t, dir, "scontrol", `echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1`)
	fake(t, dir, "sacct", `echo "12_0|COMPLETED|0:0|n1"; echo "12_1|CANCELLED by 100|0:15|None assigned"`)
	got, err := States(t.Context(), "12")
	want := []State{{ID: "12", Task: "0", Is: "COMPLETED", Nodes: "n1"}, {ID: "12", Task: "1", Is: "CANCELLED", Reason: "by 100", Signal: 15}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	fake(t, dir, "sacct", `echo "Slurm accounting storage is disabled" >&2; exit 1`)
	if _, err := States(t.Context(), "12"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	fake(t, dir, "scontrol", `echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1`)
	if _, err := States(t.Context(), "12"); err == nil || !strings.Contains(err.Error(), "Unable to contact") {
		t.Error(err)
	}
}

func TestCancelEnded(t *testing.T) {
	dir := t.TempDir()
	fake(t, dir, "scancel", `echo "scancel: error: Kill job error on job id 5: Invalid job id specified" >&2; exit 1`)
	if err := Cancel(t.Context(), "5"); err != nil {
		t.Error(err)
	}
	fake(t, dir, "scancel", `echo "scancel: error: Kill job error on job id 5: Access/permission denied" >&2; exit 1`)
	if err := Signal(t.Context(), "5.1", "TERM"); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Error(err)
	}
	if args, _ := os.ReadFile(filepath.Join(dir, "scancel.args")); string(args) != "--signal=TERM\n5.1\n" {
		t.Errorf("called with %q", args)
	}
}

func TestStep(t *testing.T) {
	dir := t.TempDir()
	fake(t, dir, "srun", `echo "$SLURM_JOB_ID $SLURM_CONF $K"; echo noise >&2`)
	t.Setenv("SLURM_JOB_ID", "9")
	t.Setenv("SLURM_CONF", "/c")
	s := Step{Job: "5_1", Name: "a", Nodes: []string{"n1", "n2"}, Env: []string{"K=v,w"}, Dir: "/logs", Args: []string{"--container-image=x"}}
	out, err := s.Command(t.Context(), "prog", "--flag").Output()
	if err != nil || string(out) != " /c v,w\n" {
		t.Errorf("%q, %v", out, err)
	}
	want := "--overlap --nodes=2 --ntasks=2 --export=ALL --jobid=5_1 --job-name=a --nodelist=n1,n2 --chdir=/logs --container-image=x prog --flag"
	if args, _ := os.ReadFile(filepath.Join(dir, "srun.args")); strings.Join(strings.Fields(string(args)), " ") != want {
		t.Errorf("called with %q", args)
	}
	s = Step{}
	if out, err := s.Command(t.Context(), "prog").Output(); err != nil || string(out) != "9 /c \n" {
		t.Errorf("in the allocation: %q, %v", out, err)
	}
}

func TestNoSlurm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Available(); !errors.Is(err, ErrNoSlurm) {
		t.Error(err)
	}
	if _, err := Submit(t.Context(), "#!/bin/sh\n"); !errors.Is(err, ErrNoSlurm) {
		t.Error(err)
	}
}

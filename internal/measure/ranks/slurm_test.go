package ranks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/cli"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/ranks"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/testing/slurmtest"
	"github.com/stepscope/stepscope/internal/tracefile/kineto"
)

// TestMain lets nodes run this program as stepscope.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "analyze" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// stepscope returns a command line that runs this program as stepscope.
func stepscope(args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	status = cli.Main(args, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// wide writes the files of 64 ranks, one of them late.
func wide(t *testing.T, dir string, late int) {
	t.Helper()
	in := window.Input{Paths: []string{filepath.Join("..", "..", "..", "testdata", "traces", "graphs")}}
	c, err := in.Open(t.Context(), &progress.Console{W: &bytes.Buffer{}}, "reading")
	if err != nil {
		t.Fatal(err)
	}
	all, err := retime.Straggler(c.Traces, 64, late, 4, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if err := kineto.WriteFile(filepath.Join(dir, r.Source.Path), r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnSlurm checks that the results on a cluster are those on one machine, byte for byte, wherever the files are.
func TestOnSlurm(t *testing.T) {
	disk := t.TempDir()
	dir := filepath.Join(disk, "profile")
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 3, Tmpfs: []string{disk}})
	for _, v := range c.Env() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	t.Setenv("SLURM_JOB_ID", "")
	shared := t.TempDir()
	wide(t, shared, 37)
	equal := func(t *testing.T, dir string, args ...string) {
		t.Helper()
		_, want, wantErrs := stepscope("analyze", dir, "--json")
		if dir != shared {
			if err := os.RemoveAll(dir); err != nil { // no longer needed on this host
				t.Fatal(err)
			}
		}
		status, got, errs := stepscope(append([]string{"analyze", dir, "--json", "--on", "slurm"}, args...)...)
		if status != 0 || got != want || errs != wantErrs || !strings.Contains(got, `"straggler-`) {
			t.Errorf("status %d, %d bytes, on one machine %d: %s", status, len(got), len(want), errs)
		}
	}
	t.Run("shared storage", func(t *testing.T) { equal(t, shared, "--tasks", "7%3") })
	t.Run("own disks", func(t *testing.T) {
		// The host has all files, each node those of half of the ranks.
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 64 {
			name := fmt.Sprintf("wide-TP-%d.trace.json.gz", i)
			if err := os.Link(filepath.Join(shared, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 2 {
			copied := c.Node(i+1).Command("sh", "-c", fmt.Sprintf("mkdir %[3]s; for i in $(seq %[1]d 2 63); do cp %[2]s/wide-TP-$i.trace.json.gz %[3]s || exit; done", i, shared, dir))
			if said, err := copied.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
		}
		equal(t, dir, "--on", "slurm:node1,node2")
	})
	t.Run("a node without", func(t *testing.T) {
		status, out, errs := stepscope("analyze", dir, "--on", "slurm:node1,node3")
		if status != 3 || !strings.Contains(errs, "node3: ") || !strings.Contains(errs, "profile: no such file or directory") || !strings.Contains(errs, "missing 31 ranks (TP01, TP03, TP05, TP07, …)") || !strings.Contains(out, "32 ranks") {
			t.Errorf("status %d: %s\n%s", status, errs, out)
		}
	})
	t.Run("in an allocation", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := stepscope("analyze", shared)
		got, err := c.Command("salloc", "--quiet", "-N2", self, "analyze", shared, "--on", "slurm").Output()
		if err != nil || string(got) != want {
			var exit *exec.ExitError
			errors.As(err, &exit)
			t.Errorf("%v: %d bytes, want %d\n%+v", err, len(got), len(want), exit)
		}
	})
	t.Run("a program that fails", func(t *testing.T) {
		o := ranks.Options{Program: []string{"sh", "-c", "echo stepscope: disk on fire >&2; exit 1"}, Within: time.Minute}
		_, err := o.Read(t.Context(), &progress.Console{W: &bytes.Buffer{}}, &window.Input{Paths: []string{shared}})
		if err == nil || err.Error() != "nothing was summarised: disk on fire (exit status 1)" {
			t.Error(err)
		}
	})
	for _, cause := range []string{"too long", "interrupted"} {
		t.Run(cause, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			o := ranks.Options{Program: []string{"true"}, Args: []string{"--hold"}, Within: 5 * time.Second}
			want := "nothing was summarised: not finished within 5s: the job is pending (JobHeldUser)"
			if cause == "interrupted" {
				o.Within, want = time.Minute, "context canceled"
				time.AfterFunc(time.Second, cancel)
			}
			_, err := o.Read(ctx, &progress.Console{W: &bytes.Buffer{}}, &window.Input{Paths: []string{shared}})
			cancel()
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	// A released job ends by itself.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left, err := c.Command("squeue", "--noheader").Output()
		if err == nil && len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: jobs are left: %s", err, left)
		}
	}
}

package slurmtest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// submit submits a batch script and returns the file that gets its output.
func submit(t *testing.T, c *Cluster, script string, flags ...string) (job, out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	cmd := c.Command("sbatch", append([]string{"--parsable", "--output=" + out}, flags...)...)
	cmd.Stdin = strings.NewReader("#!/bin/sh\n" + script)
	var errs strings.Builder
	cmd.Stderr = &errs
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, &errs)
	}
	return strings.TrimSpace(string(said)), out
}

// completes runs a batch script, which must not fail, and returns its output.
func completes(t *testing.T, c *Cluster, script string, flags ...string) string {
	t.Helper()
	job, out := submit(t, c, script, flags...)
	s := c.Wait(job, time.Minute)
	text, err := os.ReadFile(out)
	if err != nil || s.Is != "COMPLETED" {
		t.Fatalf("%+v: %v: %s", s, err, text)
	}
	return string(text)
}

func TestNodes(t *testing.T) {
	t.Parallel()
	own := t.TempDir()
	c := Start(t, Options{Nodes: 2, Tmpfs: []string{own}, TmpfsSize: map[int]string{2: "64k"}, LostAfter: 7 * time.Second, Containers: true})
	t.Run("files", func(t *testing.T) { ownFiles(t, c, own) })
	t.Run("full", func(t *testing.T) {
		for i, fails := range []bool{false, true} {
			said, err := c.Node(i+1).Command("dd", "if=/dev/zero", "of="+own+"/large", "bs=1k", "count=100").CombinedOutput()
			if (err != nil) != fails {
				t.Errorf("node%d: %v %s", i+1, err, said)
			}
		}
	})
	t.Run("network", func(t *testing.T) { ownNetwork(t, c) })
	t.Run("GPUs", func(t *testing.T) {
		said, err := c.Command("srun", "-N2", "--gpus-per-node=4", "printenv", "CUDA_VISIBLE_DEVICES").CombinedOutput()
		if string(said) != "0,1,2,3\n0,1,2,3\n" {
			t.Errorf("got %q, %v", said, err)
		}
	})
	t.Run("containers", func(t *testing.T) { containers(t, c) })
	t.Run("failure", func(t *testing.T) {
		job, _ := submit(t, c, "exit 7")
		if got := c.Wait(job, time.Minute); got.Is != "FAILED" || got.Exit != 7 || got.Reason != "NonZeroExitCode" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("cancel", func(t *testing.T) { cancel(t, c) })
	t.Run("down", func(t *testing.T) {
		job, _ := submit(t, c, "sleep 1000", "-N2", "--no-requeue")
		untilRuns(t, c, job)
		c.Node(2).Down()
		if got := c.Wait(job, time.Minute); got.Is != "NODE_FAIL" {
			t.Errorf("got %+v", got)
		}
		c.Node(2).Resume()
		c.output("srun", "-N2", "true")
	})
	t.Run("crash", func(t *testing.T) { crash(t, c) })
}

// ownFiles checks that a file that a step on one node writes into a Tmpfs is neither on the other node nor on the host.
func ownFiles(t *testing.T, c *Cluster, dir string) {
	got := completes(t, c, `
srun --overlap -N1 -w node1 sh -c "echo of node1 >`+dir+`/file"
for n in node1 node2; do srun --overlap -N1 -w $n sh -c 'echo $(hostname): $(cat `+dir+`/file 2>&1)'; done`, "-N2")
	if want := "node1: of node1\nnode2: cat: " + dir + "/file: No such file or directory\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(dir + "/file"); !os.IsNotExist(err) {
		t.Errorf("the file of node1 on the host: %v", err)
	}
	if said, err := c.Node(1).Command("cat", dir+"/file").Output(); string(said) != "of node1\n" {
		t.Errorf("node1 has %q, %v", said, err)
	}
}

// ownNetwork checks that two nodes can serve on one port, and that each node is reached by its name and its address.
func ownNetwork(t *testing.T, c *Cluster) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.nodes {
		server := n.Command("env", "SLURMTEST_SERVE=:30000", self)
		out, err := server.StdoutPipe()
		if err != nil || server.Start() != nil {
			t.Fatal("no server", err)
		}
		t.Cleanup(func() { server.Process.Kill(); server.Wait() })
		if said, err := bufio.NewReader(out).ReadString('\n'); said != "listens\n" {
			t.Fatalf("%s: %q %v", n.Name, said, err)
		}
	}
	for _, from := range c.nodes {
		for addr, want := range map[string]string{
			"node1": "node1", "node2": "node2", c.Node(1).Addr: "node1", c.Node(2).Addr: "node2", "localhost": from.Name,
		} {
			if said, err := from.Command("env", "SLURMTEST_ASK="+addr+":30000", self).CombinedOutput(); string(said) != want {
				t.Errorf("%s reaches %q at %s (%v), want %s", from.Name, said, addr, err, want)
			}
		}
	}
}

func untilRuns(t *testing.T, c *Cluster, job string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); c.Job(job).Is != "RUNNING"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("job %s does not run: %+v", job, c.Job(job))
		}
	}
}

// cancel checks that a cancelled job leaves no process on its nodes, not even one that escaped from its step.
func cancel(t *testing.T, c *Cluster) {
	job, _ := submit(t, c, "srun sh -c 'setsid sleep 1001 & sleep 1001'", "-N2")
	running := func() (count int) {
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range all {
			if text, _ := os.ReadFile(p); string(text) == "sleep\x001001\x00" {
				count++
			}
		}
		return count
	}
	for end := time.Now().Add(time.Minute); running() < 4; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("job %s does not run: %+v", job, c.Job(job))
		}
	}
	c.output("scancel", job)
	if got := c.Wait(job, time.Minute); got.Is != "CANCELLED" || got.Signal != 15 {
		t.Errorf("got %+v", got)
	}
	if left := running(); left > 0 {
		t.Errorf("%d processes of the job are left", left)
	}
}

// containers checks that a step sees its mounts, at paths that its node does not have.
func containers(t *testing.T, c *Cluster) {
	dir := t.TempDir()
	got := completes(t, c, `
mkdir `+dir+`/logs `+dir+`/model
srun --container-image=org/image:tag --container-mounts=`+dir+`/logs:/slurmtest/logs,`+dir+`/model:/slurmtest-model:ro --no-container-mount-home sh -c '
	echo $SLURMTEST_IMAGE; echo written >/slurmtest/logs/file; touch /slurmtest-model/file 2>/dev/null || echo read-only'
cat `+dir+`/logs/file; ls -d /slurmtest* 2>/dev/null || echo only in the step
srun --container-image=x --container-mounts=`+dir+`/none:/none true 2>/dev/null || echo no such mount`)
	if want := "org/image:tag\nread-only\nwritten\nonly in the step\nno such mount\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package slurmtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// left is the remains of a cluster: its directory, links, and processes, all of which name the directory as an argument
// or in their environment.
func left(dir, tag string) (found []string) {
	if _, err := os.Stat(dir); err == nil {
		found = append(found, dir)
	}
	links, _ := filepath.Glob("/sys/class/net/" + tag + "*")
	for _, l := range links {
		if name := filepath.Base(l); name == tag || strings.HasPrefix(name, tag+"n") {
			found = append(found, name)
		}
	}
	for _, kind := range []string{"cmdline", "environ"} {
		procs, _ := filepath.Glob("/proc/[0-9]*/" + kind)
		for _, p := range procs {
			if text, _ := os.ReadFile(p); bytes.Contains(text, []byte(dir)) {
				found = append(found, p)
			}
		}
	}
	return found
}

// namespaces returns the namespaces of this host's processes.
func namespaces() (all []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, p := range paths {
		if ns, err := os.Readlink(p); err == nil {
			all = append(all, ns)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestNothingLeft checks that everything a test leaves running ends with it.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	var dir, tag, own string
	t.Run("cluster", func(t *testing.T) {
		c := Start(t, Options{Nodes: 1})
		dir, tag = c.dir, c.tag
		job, _ := submit(t, c, `setsid sleep 1002 & srun sh -c "trap : TERM; sleep 1002"`)
		untilRuns(t, c, job)
		ns, err := c.Node(1).Command("readlink", "/proc/self/ns/net").Output()
		own = strings.TrimSpace(string(ns))
		if err != nil || !slices.Contains(namespaces(), own) || len(left(dir, tag)) < 10 {
			t.Errorf("the cluster is not seen: %v %q %q", err, own, left(dir, tag))
		}
	})
	if found := left(dir, tag); dir != "" && (found != nil || slices.Contains(namespaces(), own)) {
		t.Errorf("left behind: %q, namespaces %q", found, namespaces())
	}
}

// TestKilled checks that a cluster ends with the process of its test, even if that is killed, and that a cluster beside
// it continues.
func TestKilled(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 1})
	if os.Getenv("SLURMTEST_WAIT") != "" {
		fmt.Println("cluster", c.dir, c.tag)
		time.Sleep(time.Minute)
		return
	}
	other := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	other.Env = append(os.Environ(), "SLURMTEST_WAIT=1")
	out, err := other.StdoutPipe()
	if err != nil || other.Start() != nil {
		t.Fatal("no second test", err)
	}
	var dir, tag string
	if _, err := fmt.Fscanf(out, "cluster %s %s\n", &dir, &tag); err != nil || tag == c.tag || left(dir, tag) == nil {
		t.Errorf("no cluster beside %s: %q %q %v", c.tag, dir, tag, err)
	}
	c.output("srun", "true")
	_ = other.Process.Kill()
	_ = other.Wait()
	for end := time.Now().Add(20 * time.Second); left(dir, tag) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left behind: %q", left(dir, tag))
		}
	}
	c.output("srun", "true")
}

// crash checks that a killed node has neither processes nor a network, and that the others continue. The controller
// decides when its jobs end, which takes a while.
func crash(t *testing.T, c *Cluster) {
	n := c.Node(2)
	said, err := n.Command("readlink", "/proc/self/ns/net").Output()
	own := strings.TrimSpace(string(said))
	if err != nil || !slices.Contains(namespaces(), own) {
		t.Fatalf("%s is not in %q: %v", n.Name, own, err)
	}
	n.Kill()
	if slices.Contains(namespaces(), own) {
		t.Errorf("processes of %s are left", n.Name)
	}
	c.output("srun", "-w", "node1", "true")
	if config := c.output("scontrol", "show", "config"); !strings.Contains(strings.Join(strings.Fields(config), " "), "SlurmdTimeout = 7 sec") {
		t.Errorf("the controller does not wait for 7 s:\n%s", config)
	}
}

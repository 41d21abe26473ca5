// Package slurmtest runs a real Slurm for tests: Debian's slurm-wlm, a controller
// and several nodes on this host. Each node has a network, a host name, processes
// and mounts of its own, as a machine of a cluster has: two nodes may serve on one
// port, they know each other by name, and neither sees the other's processes.
package slurmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Options are what a cluster is like; the zero value is three nodes with four GPUs.
type Options struct {
	Nodes int // named node1, node2 and so on
	GPUs  int // of each node, which nobody opens
	// Tmpfs are directories over each of which every node mounts a file system of
	// its own, empty, so that nodes share nothing there. TmpfsSize bounds those of a
	// node, by its number, in mount's words ("4m"): a disk that gets full.
	Tmpfs     []string
	TmpfsSize map[int]string
	// LostAfter is how long the controller waits for a silent node, 30 s by default.
	LostAfter time.Duration
	// Containers makes sbatch and srun take pyxis's options. Mounts are real, images
	// are not: programs are the host's, and SLURMTEST_IMAGE tells a task its image.
	Containers bool
}

// Cluster is a Slurm that runs until its test ends.
type Cluster struct {
	t     testing.TB
	dir   string // holds all of it
	tag   string // the name of its bridge, with which those of the nodes' links begin
	net   string // the first three numbers of its addresses
	nodes []*Node
	keeper
}

// needs are the programs without which there is no cluster.
var needs = []string{"munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo", "scontrol", "ip", "unshare", "nsenter", "mount"}

// Start brings a cluster up and waits until its nodes take jobs. Where that cannot
// be, the test is skipped; it fails instead if STEPSCOPE_SLURM is set. With the
// test ends the cluster, of which nothing stays behind, whatever becomes of the test.
func Start(t testing.TB, opts Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("short: no Slurm")
	}
	if opts.Nodes == 0 {
		opts.Nodes = 3
	}
	if opts.GPUs == 0 {
		opts.GPUs = 4
	}
	if opts.LostAfter == 0 {
		opts.LostAfter = 30 * time.Second
	}
	c := &Cluster{t: t}
	if why := c.impossible(opts); why != "" {
		c.skip(why)
	}
	t.Cleanup(c.stop)
	if err := c.makeDir(); err != nil {
		t.Fatalf("slurmtest: %v", err)
	}
	if err := c.takeNetwork(); err != nil {
		c.skip(err.Error())
	}
	for i := range opts.Nodes {
		c.nodes = append(c.nodes, &Node{cluster: c, Name: fmt.Sprintf("node%d", i+1), Addr: fmt.Sprintf("%s.%d", c.net, i+1)})
	}
	if err := c.configure(opts); err != nil {
		t.Fatalf("slurmtest: %v", err)
	}
	if err := c.keep(); err != nil {
		t.Fatalf("slurmtest: %v", err)
	}
	c.untilReady(time.Minute, c.nodes...)
	for _, n := range c.nodes {
		if err := n.find(); err != nil {
			t.Fatalf("slurmtest: %v", err)
		}
	}
	return c
}

// impossible says why there can be no cluster here.
func (c *Cluster) impossible(opts Options) string {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return "a Slurm for tests needs Linux, and root for the namespaces of its nodes"
	}
	programs := needs
	if opts.Containers {
		programs = append(programs[:len(programs):len(programs)], "gcc")
		if _, err := os.Stat("/usr/include/slurm/spank.h"); err != nil {
			return "no slurm/spank.h: install the packages gcc and libslurm-dev to run this test"
		}
	}
	for _, name := range programs {
		if program(name) == "" {
			return "no " + name + " found; install the packages slurm-wlm, munge, iproute2 and util-linux to run this test (gcc and libslurm-dev for containers)"
		}
	}
	return ""
}

func (c *Cluster) skip(why string) {
	c.t.Helper()
	if os.Getenv("STEPSCOPE_SLURM") != "" {
		c.t.Fatalf("%s; STEPSCOPE_SLURM says that it may not be skipped", why)
	}
	c.t.Skip(why)
}

// searched is PATH with the directories of the daemons, which users need not have.
func searched() string { return os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin" }

// program is the path of a program, or nothing.
func program(name string) string {
	for _, dir := range filepath.SplitList(searched()) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// Env is what a program's environment needs to talk to this cluster.
func (c *Cluster) Env() []string {
	return []string{"SLURM_CONF=" + c.file("etc/slurm.conf"), "PATH=" + searched()}
}

// Command is a command on the host, which talks to this cluster and has nothing of
// a job that the test itself may run in.
func (c *Cluster) Command(name string, args ...string) *exec.Cmd {
	if path := program(name); path != "" && !strings.Contains(name, "/") {
		name = path
	}
	cmd := exec.Command(name, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SLURM_") && !strings.HasPrefix(v, "SBATCH_") && !strings.HasPrefix(v, "SRUN_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, c.Env()...)
	return cmd
}

// output is what a command on the host says, which must not fail.
func (c *Cluster) output(name string, args ...string) string {
	c.t.Helper()
	out, err := c.Command(name, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("slurmtest: %s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

// Package slurmtest runs a real Slurm for tests: Debian's slurm-wlm, with a controller and several nodes on this host.
// Each node has its own network, host name, processes and mounts, like a machine of a cluster. Two nodes can serve on
// the same port and reach each other by name. A node does not see the processes of other nodes.
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

// Options describe a cluster. The zero value means three nodes with four GPUs.
type Options struct {
	Nodes int // named node1, node2 and so on
	GPUs  int // number of GPUs per node; the GPUs are fake and are never opened
	// Tmpfs are directories over which every node mounts its own empty file system, so that nodes do not share these
	// directories. TmpfsSize limits the size on some nodes, by node number, in mount's syntax ("4m"), to simulate a full
	// disk.
	Tmpfs     []string
	TmpfsSize map[int]string
	// LostAfter is the time after which the controller gives up a silent node, 30 s by default.
	LostAfter time.Duration
	// Containers makes sbatch and srun accept pyxis's options. Mounts are performed, but images are not used. Tasks run
	// the host's programs, and SLURMTEST_IMAGE contains the name of the image.
	Containers bool
}

// Cluster is a Slurm that runs until its test ends.
type Cluster struct {
	t     testing.TB
	dir   string // directory of all files of the cluster
	tag   string // name of the cluster's bridge, and prefix of the names of the nodes' links
	net   string // first three numbers of the cluster's IP addresses
	nodes []*Node
	keeper
}

// needs are the programs that a cluster requires.
var needs = []string{"munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo", "scontrol", "ip", "unshare", "nsenter", "mount"}

// Start starts a cluster and waits until its nodes accept jobs. If this is impossible, the test is skipped or, if
// STEPSCOPE_SLURM is set, fails. The cluster is removed completely when the test ends, even if the test crashes.
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

// impossible returns the reason why a cluster cannot run on this host, or "".
func (c *Cluster) impossible(opts Options) string {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return "the Slurm test cluster needs Linux, and root for the namespaces of its nodes"
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
		c.t.Fatalf("%s; STEPSCOPE_SLURM forbids skipping this test", why)
	}
	c.t.Skip(why)
}

// searched returns PATH with the directories of the daemons appended, because a user's PATH may lack these directories.
func searched() string { return os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin" }

// program returns the path of a program, or "".
func program(name string) string {
	for _, dir := range filepath.SplitList(searched()) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

// Env returns the environment for programs that communicate with this cluster.
func (c *Cluster) Env() []string {
	return []string{"SLURM_CONF=" + c.file("etc/slurm.conf"), "PATH=" + searched()}
}

// Command returns a command that runs on the host and communicates with this cluster. The command's environment
// excludes the variables of a Slurm job in which the test itself may be running.
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

// output returns the output of a command on the host. If the command fails, the test fails.
func (c *Cluster) output(name string, args ...string) string {
	c.t.Helper()
	out, err := c.Command(name, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("slurmtest: %s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

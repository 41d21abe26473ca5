package slurmtest

import (
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// keeper is the process that starts and stops a cluster. The keeper stops the cluster when the pipe from this process
// closes. The pipe also closes when the test is killed and no Cleanup function runs.
type keeper struct {
	process *exec.Cmd
	hold    io.Closer
	ended   chan struct{}
}

//go:embed testdata/*.sh testdata/slurm.conf testdata/pyxis.c
var files embed.FS

// keep starts the keeper, testdata/keeper.sh.
func (c *Cluster) keep() error {
	log, err := os.Create(c.file("log/keeper.err"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.Command("sh", c.file("keeper.sh"), c.dir, c.tag, c.net, fmt.Sprint(len(c.nodes)))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // interrupts of the test do not reach the keeper
	hold, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the keeper's log contains the result
		close(ended)
	}()
	c.keeper = keeper{cmd, hold, ended}
	return nil
}

// stop stops the cluster and waits until it is removed completely.
func (c *Cluster) stop() {
	if c.t.Failed() && c.process != nil {
		c.t.Logf("slurmtest: logs of the cluster:\n%s", c.logs())
	}
	if c.process != nil {
		c.hold.Close()
		select {
		case <-c.ended:
		case <-time.After(time.Minute):
			c.t.Errorf("slurmtest: the cluster in %s did not end", c.dir)
			return
		}
	}
	// Remove the network. Usually the keeper has already removed it, unless the keeper never ran.
	if c.tag != "" {
		_ = c.Command("ip", "link", "del", c.tag).Run()
	}
	os.RemoveAll(c.dir)
}

// untilReady waits until nodes accept jobs.
func (c *Cluster) untilReady(limit time.Duration, nodes ...*Node) {
	c.t.Helper()
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		out, err := c.Command("sinfo", "--noheader", "--Node", "--nodes="+strings.Join(names, ","), "--format=%T").CombinedOutput()
		if states := ready.FindAll(out, -1); err == nil && len(states) == len(nodes) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("slurmtest: %s not ready after %v: %v %s", names, limit, err, out)
		}
	}
}

// ready matches the states in which a node accepts jobs. The state of an unresponsive node has a suffix.
var ready = regexp.MustCompile(`(?m)^(idle|mixed|allocated|completing)$`)

// logs returns the last lines of each log.
func (c *Cluster) logs() string {
	var b strings.Builder
	paths, _ := filepath.Glob(c.file("log/*"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if lines = lines[max(0, len(lines)-15):]; lines[0] != "" {
			fmt.Fprintf(&b, "%s:\n    %s\n", filepath.Base(path), strings.Join(lines, "\n    "))
		}
	}
	return b.String()
}

package slurmtest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Node is a machine of a cluster.
type Node struct {
	Name, Addr string
	cluster    *Cluster
	first      *os.Process // process 1 of the node, identified by its number on the host
}

// Node returns a node by number, from 1.
func (c *Cluster) Node(i int) *Node { return c.nodes[i-1] }

// find finds the first process of a node.
func (n *Node) find() error {
	text, err := os.ReadFile(n.cluster.file("run/" + n.Name))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	// Use a process handle, so that a signal never reaches a later process with the same number.
	n.first, err = os.FindProcess(pid)
	return err
}

// up reports whether a node's processes are running.
func (n *Node) up() bool { return n.first.Signal(syscall.Signal(0)) == nil }

// Command returns a command that runs on this node, in the test's initial directory.
func (n *Node) Command(name string, args ...string) *exec.Cmd {
	n.cluster.t.Helper()
	if !n.up() {
		n.cluster.t.Fatalf("slurmtest: %s is not up", n.Name)
	}
	inside := []string{"--target", strconv.Itoa(n.first.Pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--", name}
	return n.cluster.Command("nsenter", append(inside, args...)...)
}

// Kill simulates a crash of the node: all processes of the node and its network disappear. The controller detects the
// crash by itself after Options.LostAfter.
func (n *Node) Kill() {
	n.cluster.t.Helper()
	_ = n.first.Kill()
	for end := time.Now().Add(10 * time.Second); n.up(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			n.cluster.t.Fatalf("slurmtest: %s is not dead 10 s after it was killed", n.Name)
		}
	}
}

// Down marks the node as down in the controller, which ends the node's jobs.
func (n *Node) Down() {
	n.cluster.t.Helper()
	n.cluster.output("scontrol", "update", "nodename="+n.Name, "state=down", "reason=test")
}

// Resume returns the node to service, and waits until it is ready.
func (n *Node) Resume() {
	n.cluster.t.Helper()
	n.cluster.output("scontrol", "update", "nodename="+n.Name, "state=resume")
	n.cluster.untilReady(time.Minute, n)
}

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
	first      *os.Process // its process 1, as the host numbers it
}

// Node is the node of a number from 1 on.
func (c *Cluster) Node(i int) *Node { return c.nodes[i-1] }

// find learns which process is the first of a node.
func (n *Node) find() error {
	text, err := os.ReadFile(n.cluster.file("run/" + n.Name))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", n.Name, err)
	}
	// A handle of the process, so that nobody is hit who gets its number later.
	n.first, err = os.FindProcess(pid)
	return err
}

// up says whether a node's processes are there.
func (n *Node) up() bool { return n.first.Signal(syscall.Signal(0)) == nil }

// Command is a command on this node, in the directory in which the test began.
func (n *Node) Command(name string, args ...string) *exec.Cmd {
	n.cluster.t.Helper()
	if !n.up() {
		n.cluster.t.Fatalf("slurmtest: %s is not up", n.Name)
	}
	inside := []string{"--target", strconv.Itoa(n.first.Pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--", name}
	return n.cluster.Command("nsenter", append(inside, args...)...)
}

// Kill is a crash of the node: all of its processes are gone, and its network. The
// controller finds out by itself (Options.LostAfter).
func (n *Node) Kill() {
	n.cluster.t.Helper()
	_ = n.first.Kill()
	for end := time.Now().Add(10 * time.Second); n.up(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			n.cluster.t.Fatalf("slurmtest: %s is not dead 10 s after it was killed", n.Name)
		}
	}
}

// Down tells the controller that the node is down: what ran there ends.
func (n *Node) Down() {
	n.cluster.t.Helper()
	n.cluster.output("scontrol", "update", "nodename="+n.Name, "state=down", "reason=test")
}

// Resume tells the controller that the node may be used again, and waits until it is.
func (n *Node) Resume() {
	n.cluster.t.Helper()
	n.cluster.output("scontrol", "update", "nodename="+n.Name, "state=resume")
	n.cluster.untilReady(time.Minute, n)
}

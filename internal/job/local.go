package job

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Local runs a job on this machine. All nodes of the job are this machine.
type Local struct {
	nodes []Node

	mark string // value in the environment of this run's tasks, by which the tasks are identified
	mu   sync.Mutex
	cmds map[*Task]*exec.Cmd
}

// NewLocal returns a Local with the given number of nodes.
func NewLocal(nodes int) *Local {
	l := &Local{mark: "STEPSCOPE_TASK=" + rand.Text(), cmds: map[*Task]*exec.Cmd{}}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	for range nodes {
		l.nodes = append(l.nodes, Node{Name: host, Addr: "127.0.0.1"})
	}
	return l
}

func (l *Local) String() string { return "this machine" }

// Nodes returns as many nodes as the job wants. All of them are this machine.
func (l *Local) Nodes() []Node { return l.nodes }

// Command returns the command of the task itself, to be run in a new session.
func (l *Local) Command(t *Task) (*exec.Cmd, error) {
	cmd := exec.Command(t.Args[0], t.Args[1:]...)
	cmd.Env = append(append(os.Environ(), t.Env...), l.of(t))
	cmd.SysProcAttr = apart()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cmds[t] = cmd
	return cmd, nil
}

// Signal sends a signal to all processes of the task, as Slurm does for a step.
func (l *Local) Signal(_ context.Context, t *Task, sig syscall.Signal) error {
	l.mu.Lock()
	cmd := l.cmds[t]
	l.mu.Unlock()
	if cmd == nil || cmd.Process == nil {
		return nil
	}
	return signalAll(cmd.Process.Pid, l.of(t), sig)
}

// of returns the environment variable that identifies the processes of a task, regardless of their sessions.
func (l *Local) of(t *Task) string { return l.mark + t.Name }

// sweep waits until all processes that a task has started have ended. After grace, it kills the remaining processes.
// Slurm does the same at the end of a step.
func (l *Local) sweep(t *Task, grace time.Duration) {
	l.mu.Lock()
	cmd := l.cmds[t]
	l.mu.Unlock()
	for until := time.Now().Add(grace); ; time.Sleep(50 * time.Millisecond) {
		left, _ := processes(cmd.Process.Pid, l.of(t))
		if len(left) == 0 {
			return
		}
		if time.Now().After(until) {
			signalAll(cmd.Process.Pid, l.of(t), syscall.SIGKILL)
			return
		}
	}
}

// Lost returns nil, because this machine cannot be lost.
func (l *Local) Lost(context.Context) map[string]string { return nil }

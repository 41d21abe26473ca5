package job

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Carrier starts and signals programs on the nodes of a job.
type Carrier interface {
	// Nodes returns the nodes of the job, in order.
	Nodes() []Node
	// Command returns the command that runs a task on the task's node. The task runs in the job's container if the job
	// has a container and t.Inside is set. Command does not start the task.
	Command(t *Task) (*exec.Cmd, error)
	// Signal sends the signal TERM or KILL to all processes of a running task.
	Signal(ctx context.Context, t *Task, sig syscall.Signal) error
	// Lost returns the nodes that are no longer available, each with the reason.
	Lost(ctx context.Context) map[string]string

	String() string
}

// Node is a machine of a job.
type Node struct {
	Name string `json:"name"`
	Addr string `json:"addr"` // address at which the other nodes reach this node
}

// Task is a program on one node.
type Task struct {
	Name   string // name of a worker's node or of a phase; also the name of the Slurm step
	Node   int
	Inside bool // run in the job's container, if the job has one
	Stdin  bool // connect stdin
	Command
}

// Proc is a task that has been started.
type Proc struct {
	*Task
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed when the task ends
	err   error         // error of the task, valid once done is closed
	began time.Time
	told  atomic.Bool // the task was asked to end
	out   *outlet
}

// outlet writes stdout and stderr of a program to one file. If the file cannot be written, for example because the disk
// is full, the program continues and the rest of its output is lost.
type outlet struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first write error
}

func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.w.Write(p); err != nil && o.err == nil {
		o.err = err
	}
	return len(p), nil
}

// start starts a task and writes its output to a file. If watch is not nil, watch also receives the stdout of the task.
func start(c Carrier, t *Task, output string, watch io.Writer) (*Proc, error) {
	cmd, err := c.Command(t)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	p := &Proc{Task: t, cmd: cmd, done: make(chan struct{}), began: time.Now()}
	both := &outlet{w: f}
	p.out = both
	cmd.Stdout, cmd.Stderr = both, both
	if watch != nil {
		cmd.Stdout = io.MultiWriter(both, watch)
	}
	if t.Stdin {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			f.Close()
			return nil, err
		}
	}
	cmd.WaitDelay = 10 * time.Second // a grandchild may keep the output streams open
	ended, err := launch(cmd)
	if err != nil {
		f.Close()
		return nil, err
	}
	go func() {
		p.err = <-ended
		if l, ok := c.(*Local); ok {
			l.sweep(t, sweepGrace)
		}
		f.Close()
		close(p.done)
	}()
	return p, nil
}

// launch starts a program from an OS thread that lives as long as the program. The kernel treats that thread as the
// parent; see apart. When the program has ended, launch sends the program's error to ended once.
func launch(cmd *exec.Cmd) (ended <-chan error, err error) {
	started, end := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	return end, <-started
}

// ended reports whether the task has ended.
func (p *Proc) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ends asks a task to end and reports whether the task ends within grace. If the signal cannot be sent, ends retries,
// because Slurm's controller may be busy.
func (p *Proc) ends(ctx context.Context, c Carrier, grace time.Duration) bool {
	late, tell := time.After(grace), time.After(0)
	for {
		select {
		case <-p.done:
			return true
		case <-tell:
			if c.Signal(ctx, p.Task, syscall.SIGTERM) != nil {
				tell = time.After(tellAgain)
			}
		case <-late:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

const tellAgain = 5 * time.Second

// sweepGrace is the time that the children of a program may run after the program has ended.
const sweepGrace = 10 * time.Second

// stop ends tasks with TERM. Tasks that are still running after the grace period are ended with KILL. stop returns the
// tasks that had to be killed.
func stop(ctx context.Context, c Carrier, procs []*Proc, grace time.Duration) (killed []*Proc) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, p := range procs {
		if p.ended() {
			continue
		}
		p.told.Store(true)
		wg.Go(func() {
			if p.ends(ctx, c, grace) {
				return
			}
			mu.Lock()
			killed = append(killed, p)
			mu.Unlock()
			c.Signal(context.WithoutCancel(ctx), p.Task, syscall.SIGKILL)
			select {
			case <-p.done:
			case <-time.After(10 * time.Second):
				p.cmd.Process.Kill() // the local process that represents the task, such as srun
				<-p.done
			}
		})
	}
	wg.Wait()
	return killed
}

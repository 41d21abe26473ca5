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

// Carrier starts programs on the nodes of a job.
type Carrier interface {
	// Nodes are those of the job, in order.
	Nodes() []Node
	// Command is a program on a node; in a container if there is one and inside is true. Nothing is started.
	Command(t *Task) (*exec.Cmd, error)
	// Signal sends TERM or KILL to all processes of a task that runs.
	Signal(ctx context.Context, t *Task, sig syscall.Signal) error
	// Lost tells which of the nodes are gone, and why.
	Lost(ctx context.Context) map[string]string

	String() string
}

// Node is one machine of a job.
type Node struct {
	Name string `json:"name"`
	Addr string `json:"addr"` // for the other nodes
}

// Task is one program on one node.
type Task struct {
	Name   string // of a worker's node, or of a phase: its step's name, too
	Node   int
	Inside bool // the job's container, if it has one
	Stdin  bool // is used
	Command
}

// Proc is a task that runs.
type Proc struct {
	*Task
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{} // closed at its end
	err   error         // how it ended
	began time.Time
	told  atomic.Bool // to end
	out   *outlet
}

// outlet lets both streams of a program write to one file, whole pieces at a time. A file that takes no more, on a full
// disk, does not end the program: what is written then is lost.
type outlet struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first
}

func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.w.Write(p); err != nil && o.err == nil {
		o.err = err
	}
	return len(p), nil
}

// start runs a task, with its output to a file; watch sees its stdout as well, if it is not nil.
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
	cmd.WaitDelay = 10 * time.Second // a grandchild that keeps the output open
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

// launch starts a program from a thread that lives as long as it: that is what the program takes for its parent, see
// apart. Its end is told once.
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

// ended tells whether it has.
func (p *Proc) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// ends tells a task to end, again where that does not reach it (a controller may be busy), and whether it has in time.
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

// sweepGrace is how long what a program has started may outlive it.
const sweepGrace = 10 * time.Second

// stop ends tasks: TERM, and after a time KILL. It returns those that had to be killed.
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
				p.cmd.Process.Kill() // the one that carries it
				<-p.done
			}
		})
	}
	wg.Wait()
	return killed
}

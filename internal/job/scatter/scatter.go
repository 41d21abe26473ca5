// Package scatter runs command lines on the nodes of a Slurm cluster. The job steps that run the commands stream their
// stdout back to this process, so no shared directory is needed. All tasks have a time limit, and scatter cancels every
// job that it has submitted.
package scatter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/job/slurm"
)

// Task is a command line.
type Task struct {
	Node string // node on which to run; "": any
	Args []string
}

// Options configures a run.
type Options struct {
	Name   string // name of the jobs and steps
	AtOnce int    // maximum number of concurrent tasks; 0: as many as Slurm allows
	Within time.Duration
	Args   []string // additional sbatch arguments
	Say    *progress.Console
	// Take reads the stdout of a task. Take is called concurrently for several tasks.
	Take func(task int, stdout io.Reader) error
}

// Run runs tasks. If this process is in an allocation, the tasks run as steps of the allocation. Otherwise each task
// that names a node runs in a separate job, and all other tasks run as one job array. Run returns one error per task.
// The error is nil if the output of the task was read completely. When ctx ends or Within has passed, all running tasks
// are cancelled.
func Run(ctx context.Context, tasks []Task, o Options) ([]error, error) {
	if err := slurm.Available(); err != nil {
		return nil, err
	}
	r := &run{Options: o, tasks: tasks, errs: make([]error, len(tasks))}
	for i := range r.errs {
		r.errs[i] = errNotBegun
	}
	limited, done := context.WithTimeoutCause(ctx, o.Within, fmt.Errorf("not finished within %v", o.Within))
	defer done()
	var err error
	if job, nodes := slurm.Allocation(); job != "" {
		err = r.inside(limited, nodes)
	} else {
		err = r.submitted(limited)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r.errs, err
}

var errNotBegun = errors.New("it was not started")

// run is a run in progress.
type run struct {
	Options
	tasks []Task
	errs  []error
}

// step runs a task as a step of a job or of this process's allocation.
func (r *run) step(ctx context.Context, task int, s slurm.Step) {
	cmd := s.Command(ctx, r.tasks[task].Args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.errs[task] = err
		return
	}
	taken := r.Take(task, stdout)
	_, _ = io.Copy(io.Discard, stdout) // read stdout to its end, so that the command can exit
	ended := cmd.Wait()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	switch {
	case ctx.Err() != nil:
		r.errs[task] = context.Cause(ctx)
	case taken != nil:
		if r.errs[task] = taken; ended != nil {
			r.errs[task] = fmt.Errorf("%s (%w)", cmp.Or(reason(lines, cmd.ProcessState.ExitCode()), taken.Error()), ended)
		}
	default:
		r.errs[task] = nil
		for _, line := range lines {
			if line != "" {
				r.Say.Line(line)
			}
		}
	}
}

// reason returns the last message of the program, else of Slurm. srun may
// print its own before the program's. If a signal ended the program, the reason is Slurm's.
func reason(lines []string, status int) string {
	ends := slices.Backward(lines)
	by := []string{"stepscope: ", "slurmstepd: error: ", "srun: error: "}
	if status > 128 {
		by[0], by[1] = by[1], by[0]
	}
	for _, from := range by {
		for _, line := range ends {
			if text, ok := strings.CutPrefix(line, from); ok {
				return text
			}
		}
	}
	return lines[0]
}

// inside runs tasks as steps of this process's allocation, at most one per node at a time.
func (r *run) inside(ctx context.Context, list string) error {
	nodes, err := slurm.Hostnames(ctx, list)
	if err != nil {
		return err
	}
	limit := len(r.tasks)
	if r.AtOnce > 0 {
		limit = r.AtOnce
	}
	slots := make(chan struct{}, limit)
	turn := map[string]*sync.Mutex{}
	for _, n := range nodes {
		turn[n] = &sync.Mutex{}
	}
	var wg sync.WaitGroup
	for i := range r.tasks {
		node := cmp.Or(r.tasks[i].Node, nodes[i%len(nodes)])
		if turn[node] == nil {
			r.errs[i] = fmt.Errorf("node %s is not in the allocation (%s)", node, list)
			continue
		}
		wg.Go(func() {
			turn[node].Lock()
			defer turn[node].Unlock()
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				r.errs[i] = context.Cause(ctx)
				return
			}
			r.step(ctx, i, slurm.Step{Name: r.Name, Nodes: []string{node}})
		})
	}
	wg.Wait()
	return nil
}

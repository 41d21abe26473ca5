// Package scatter runs command lines on the nodes of a Slurm cluster and brings what
// they write to stdout here, through the steps that run them: no directory need be
// shared. It waits for no task longer than it was told to, and leaves no job behind.
package scatter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/job/slurm"
)

// Task is one command line.
type Task struct {
	Node string // that it must run on; "": any
	Args []string
}

// Options say how tasks are run.
type Options struct {
	Name   string // of jobs and steps
	AtOnce int    // tasks that run at the same time; 0: as many as Slurm lets
	Within time.Duration
	Args   []string // more arguments of sbatch
	Say    *progress.Console
	// Take reads what a task writes. Tasks are read at the same time.
	Take func(task int, stdout io.Reader) error
}

// Run runs tasks: within an allocation as steps of it, else as an array of jobs, or a job
// for each task that has a node. It gives the error of each task, nil for one that was
// taken whole. When ctx ends, or the time is over, all that runs is cancelled.
func Run(ctx context.Context, tasks []Task, o Options) ([]error, error) {
	if err := slurm.Available(); err != nil {
		return nil, err
	}
	r := &run{Options: o, tasks: tasks, errs: make([]error, len(tasks))}
	for i := range r.errs {
		r.errs[i] = errNotBegun
	}
	limited, done := context.WithTimeoutCause(ctx, o.Within, fmt.Errorf("not done within %v", o.Within))
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

var errNotBegun = errors.New("it was not begun")

// run is tasks under way.
type run struct {
	Options
	tasks []Task
	errs  []error
}

// step runs a task as a step of a job, or of the allocation that this process is in.
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
	_, _ = io.Copy(io.Discard, stdout) // so that it can end
	ended := cmd.Wait()
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	switch {
	case ctx.Err() != nil:
		r.errs[task] = context.Cause(ctx)
	case taken != nil:
		// Why it broke off is what the program said last, or Slurm.
		if r.errs[task] = taken; ended != nil {
			r.errs[task] = fmt.Errorf("%s (%w)", cmp.Or(reason(lines), taken.Error()), ended)
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

// reason is the first line that says why something failed.
func reason(lines []string) string {
	for _, line := range lines {
		for _, from := range []string{"stepscope: ", "slurmstepd: error: ", "srun: error: "} {
			if text, ok := strings.CutPrefix(line, from); ok {
				return text
			}
		}
	}
	return lines[0]
}

// inside runs tasks as steps of the allocation, one a node at a time.
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

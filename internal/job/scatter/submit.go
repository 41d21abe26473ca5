package scatter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/job/slurm"
)

// hold is the batch script of a job. The script keeps the job's allocation until the script receives USR1. While the
// script runs, this process runs a step in the allocation.
const hold = `#!/bin/sh
trap 'exit 0' USR1
sleep %d &
wait
`

// cancelling is the time limit for cancelling the jobs after the run has ended.
const cancelling = 30 * time.Second

// submission is a job or a job array.
type submission struct {
	id    string
	tasks []int // task numbers, by index in the array
}

// submitted runs the tasks in new jobs.
func (r *run) submitted(ctx context.Context) (err error) {
	jobs, err := r.submit(ctx)
	defer func() {
		if err == nil && ctx.Err() == nil {
			return // all jobs were released
		}
		last, done := context.WithTimeout(context.WithoutCancel(ctx), cancelling)
		defer done()
		for _, j := range jobs {
			if err := slurm.Cancel(last, j.id); err != nil {
				r.Say.Warn("job %s: %v", j.id, err)
			}
		}
	}()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	begun := make([]bool, len(r.tasks))
	left := 0
	for _, j := range jobs {
		left += len(j.tasks)
	}
	var waits error      // error of the last poll that was not cut short
	var waiting []string // why jobs were pending at the last such poll
	for pause := asking; left > 0; pause = min(pause*5/4, slowPoll) {
		var now []string
		for _, j := range jobs {
			states, err := slurm.States(ctx, j.id)
			if ctx.Err() != nil {
				now = waiting
				break
			}
			if waits = err; errors.Is(err, slurm.ErrUnknown) {
				return err
			}
			for _, s := range states {
				for _, task := range j.of(&s) {
					switch {
					case begun[task]:
						continue
					case s.Is == "RUNNING":
						wg.Go(func() {
							r.step(ctx, task, slurm.Step{Job: s.ID, Name: r.Name})
							r.release(ctx, j.name(&s))
						})
					case s.Ended():
						r.errs[task] = fmt.Errorf("job %s: %s", s.ID, strings.Join(strings.Fields(s.Is+" "+s.Reason), ", "))
					default:
						now = append(now, s.Reason)
						r.errs[task] = errNotBegun
						continue
					}
					begun[task] = true
					left--
				}
			}
		}
		if waiting = now; left == 0 {
			break
		}
		select {
		case <-ctx.Done():
			why := context.Cause(ctx)
			if len(waiting) > 0 && waiting[0] != "" {
				why = fmt.Errorf("%w: the job is pending (%s)", why, waiting[0])
			}
			if waits != nil {
				why = fmt.Errorf("%w: %w", why, waits)
			}
			for _, j := range jobs {
				for _, i := range j.tasks {
					if !begun[i] {
						r.errs[i] = why
					}
				}
			}
			return nil
		case <-time.After(pause):
		}
	}
	return nil
}

// Intervals at which Slurm is polled. The first interval is asking. The intervals grow up to slowPoll.
const (
	asking   = 300 * time.Millisecond
	slowPoll = 5 * time.Second
)

// submit submits a separate job for each task that names a node, and one job array for all other tasks.
func (r *run) submit(ctx context.Context) (jobs []submission, err error) {
	seconds := int(r.Within/time.Second) + 1
	args := []string{
		"--job-name=" + r.Name, "--nodes=1", "--ntasks=1", "--no-requeue", "--output=/dev/null", "--error=/dev/null",
		"--time=" + strconv.Itoa(seconds/60+1),
	}
	script := fmt.Sprintf(hold, seconds)
	var any []int
	for i, t := range r.tasks {
		if t.Node == "" {
			any = append(any, i)
			continue
		}
		id, err := slurm.Submit(ctx, script, append(append(args[:len(args):len(args)], "--nodelist="+t.Node), r.Args...)...)
		if ctx.Err() != nil {
			return jobs, ctx.Err()
		}
		if r.errs[i] = err; err == nil {
			jobs = append(jobs, submission{id, []int{i}})
		}
	}
	if len(any) == 0 {
		if len(jobs) == 0 {
			return nil, r.errs[0]
		}
		return jobs, nil
	}
	array := fmt.Sprintf("--array=0-%d", len(any)-1)
	if r.AtOnce > 0 {
		array += fmt.Sprintf("%%%d", r.AtOnce)
	}
	id, err := slurm.Submit(ctx, script, append(append(args, array), r.Args...)...)
	if err != nil {
		return jobs, err
	}
	return append(jobs, submission{id, any}), nil
}

// of returns the tasks that a state describes: one task of an array, or all pending tasks of the array.
func (j *submission) of(s *slurm.State) (tasks []int) {
	if s.Task == "" {
		return j.tasks[:1]
	}
	for part := range strings.SplitSeq(s.Task, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(last)
		if errFrom != nil || errTo != nil {
			continue
		}
		for n := from; n <= to && n < len(j.tasks); n++ {
			tasks = append(tasks, j.tasks[n])
		}
	}
	return tasks
}

// name returns a name for s that identifies a single job. The id alone is not sufficient, because the last task of an
// array has the same id as the array.
func (j *submission) name(s *slurm.State) string {
	if s.Task == "" {
		return s.ID
	}
	return j.id + "_" + s.Task
}

// release ends a job after the step in it has ended.
func (r *run) release(ctx context.Context, job string) {
	ctx = context.WithoutCancel(ctx)
	err := slurm.SignalScript(ctx, job, "USR1")
	if err == nil {
		return
	}
	if err := slurm.Cancel(ctx, job); err != nil {
		r.Say.Warn("job %s: %v", job, err)
	}
}

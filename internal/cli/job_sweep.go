package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/slurm"
	"github.com/stepscope/stepscope/internal/job/spec"
)

// cancelGrace is the time that a job of an interrupted sweep may take to shut down.
const cancelGrace = 2 * time.Minute

type jobSweepCmd struct {
	Dir  string `arg:"" placeholder:"DIR" help:"The sweep's directory."`
	JSON bool   `name:"json" help:"Print as JSON."`
}

// Help returns the end of the verb's help text.
func (c *jobSweepCmd) Help() string {
	return `Compares the jobs of a sweep as job apply does at its end, for a sweep that was detached or still runs. Prints a table per role with a row
per job: tokens per second and latencies of the load, the steps of the window and how they spend their time. Writes sweep.json and
sweep.html, with plots over the first numeric parameter, into the directory. Exits as job apply does.

Examples:
  stepscope job sweep logs/profiling_sweep_20261123_101500`
}

// Run compares the jobs.
func (c *jobSweepCmd) Run(e *env) error {
	s, err := job.ReadSweep(c.Dir)
	if err != nil {
		return err
	}
	return compareSweep(e, s, c.JSON)
}

// compareSweep prints the comparison of a sweep's jobs and writes it to the directory of the sweep.
func compareSweep(e *env, s *job.Sweep, asJSON bool) error {
	if err := s.Write(); err != nil {
		return err
	}
	table := sweepTable(s)
	page := filepath.Join(s.Dir, "sweep.html")
	if err := atomicfile.Write(page, func(w io.Writer) error { return report.SweepHTML(w, table) }); err != nil {
		return err
	}
	e.status = s.Status()
	if asJSON {
		return e.printJSON(s)
	}
	if err := report.SweepText(e.stdout, table, e.tables()); err != nil {
		return err
	}
	e.Line(page)
	return nil
}

// sweepTable converts a sweep to the form that package report uses.
func sweepTable(s *job.Sweep) *report.Sweep {
	t := &report.Sweep{Name: s.Name, Began: s.Began, Parameters: s.Parameters}
	for _, f := range job.Figures {
		t.Figures = append(t.Figures, report.SweepFigure{Name: f.Title, Unit: f.Unit})
	}
	roles := map[spec.Role]int{}
	for i, v := range s.Jobs {
		row := report.SweepJob{Name: v.Name, Values: v.Values, Outcome: v.Outcome(), Failed: v.Failure != nil}
		if v.Failure != nil {
			row.Why = v.Failure.What
		}
		t.Jobs = append(t.Jobs, row)
		for _, r := range v.Roles {
			at, known := roles[r.Role]
			if !known {
				at = len(t.Roles)
				roles[r.Role] = at
				t.Roles = append(t.Roles, report.SweepRole{Name: string(r.Role), Rows: make([][]float64, len(s.Jobs))})
			}
			for _, f := range job.Figures {
				value, ok := r.Figures[f.Name]
				if !ok {
					value = math.NaN()
				}
				t.Roles[at].Rows[i] = append(t.Roles[at].Rows[i], value)
			}
		}
	}
	return t
}

// sweep runs the jobs of a sweep, several at a time, and compares the results. Alternatively it prints the plans of the
// jobs.
func (c *jobApplyCmd) sweep(ctx context.Context, e *env, variants []spec.Variant, cluster *spec.Cluster, root string) error {
	at := time.Now()
	plans, orders := make([]*job.Plan, len(variants)), make([]job.Slurm, len(variants))
	most, wants := 0, make([]int, len(variants))
	for i, v := range variants {
		var err error
		if plans[i], orders[i], err = c.plan(v.Job, cluster, root); err != nil {
			return err
		}
		o := &orders[i]
		o.At, o.Token, o.Dir = at, orders[0].Token, filepath.Join(root, job.SweepDir(v.Of, at), v.Name)
		o.Exclusive = o.Exclusive || c.Parallel > 1 // two jobs on one node would share ports and slow each other down
		most, wants[i] = max(most, len(plans[i].Workers)), plans[i].Nodes
	}
	if c.DryRun {
		for i, v := range variants {
			if c.On == "local" {
				plans[i].Shift(i % c.Parallel * most)
			}
			fmt.Fprintf(e.stdout, "%s## %s: %s\n\n", strings.Repeat("\n", min(i, 1)), v.Name, v.Told())
			plans[i].Show(e.stdout, &orders[i], root)
		}
		return nil
	}
	var nodes []string
	if c.where() == allocated {
		var err error
		if nodes, err = job.Allocated(ctx); err != nil {
			return err
		}
	}
	s, err := job.NewSweep(variants[0].Of, root, variants, at)
	if err != nil {
		return err
	}
	e.Line(fmt.Sprintf("%s: %d jobs, %d at a time: %s", s.Name, len(variants), min(c.Parallel, len(variants)), s.Dir))
	if c.Detach {
		return c.array(ctx, e, s, plans, orders)
	}
	job.Deal(ctx, wants, c.Parallel, nodes, func(i, seat int, nodes []string) {
		v := &s.Jobs[i]                                                // accessed only by this goroutine
		short := strings.Join(strings.SplitN(v.Name, "_", 3)[:2], "_") // job_001
		say := func(line string) { e.Line(short + " " + line) }
		if c.On == "local" {
			plans[i].Shift(seat * most)
		}
		state, err := c.variant(ctx, plans[i], &orders[i], nodes, say)
		if err != nil {
			say(err.Error())
			v.Fail(err)
			return
		}
		v.Take(state)
		say(strings.TrimSpace(state.Summary()))
	})
	s.Look()
	err = compareSweep(e, s, c.JSON)
	if err == nil && e.status == 0 {
		err = ctx.Err() // jobs that were not started have not failed
	}
	return err
}

// variant runs one job of a sweep. When ctx ends, the job is ended and the existing files are collected.
func (c *jobApplyCmd) variant(ctx context.Context, p *job.Plan, o *job.Slurm, nodes []string, say func(string)) (*job.State, error) {
	if c.where() != submitting {
		return c.here(ctx, p, o, nodes, say)
	}
	id, dir, err := c.submit(ctx, p, o, say)
	if err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	defer context.AfterFunc(ctx, func() {
		if s, err := job.Read(dir); err == nil {
			if _, err := job.Cancel(after, s, cancelGrace, say); err != nil {
				say(err.Error())
			}
		}
	})()
	s, err := job.Fetch(after, p, id, dir, o.Token, &sayer{say: say}, say)
	if err != nil {
		return nil, err
	}
	return s, c.keep(p, s)
}

// sayer is a writer that passes on whole lines.
type sayer struct {
	say  func(string)
	rest []byte
}

func (l *sayer) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.say(string(line))
		l.rest = rest
	}
}

// array submits all jobs of a sweep as one job array. Slurm then schedules the jobs.
func (c *jobApplyCmd) array(ctx context.Context, e *env, s *job.Sweep, plans []*job.Plan, orders []job.Slurm) error {
	script, err := job.ArrayScript(s.Name, plans, orders, c.Parallel)
	if err != nil {
		return err
	}
	for i := range orders { // the token must exist before a task starts and reads it
		if err := job.Announce(orders[i].Dir, orders[i].Token); err != nil {
			return err
		}
	}
	id, err := slurm.Submit(ctx, script)
	if err != nil {
		return refused(err)
	}
	for i, p := range plans {
		if err := job.Note(p, &orders[i], fmt.Sprintf("%s_%d", id, i), orders[i].Dir); err != nil {
			return err
		}
	}
	e.Line(fmt.Sprintf("array %s submitted\n  stepscope job status    stepscope job sweep %s    scancel %s", id, s.Dir, id))
	fmt.Fprintln(e.stdout, id)
	return nil
}

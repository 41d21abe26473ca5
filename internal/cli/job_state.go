package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/job"
	"github.com/stepscope/stepscope/internal/job/spec"
)

type jobStatusCmd struct {
	Job  string `arg:"" optional:"" placeholder:"ID" help:"The job, or its directory; default: all."`
	JSON bool   `name:"json" help:"Print as JSON."`
	jobPlace
}

// Help returns the end of the verb's help text.
func (c *jobStatusCmd) Help() string {
	return `Lists the jobs of a directory, newest first, with the progress of each and why it ended; a single job has more details.

Examples:
  stepscope job status
  stepscope job status 1234`
}

// Run prints the jobs.
func (c *jobStatusCmd) Run(ctx context.Context, e *env) error {
	if c.Job != "" {
		s, err := job.Find(c.Output, c.Job)
		if err != nil {
			return err
		}
		job.Ask(ctx, s)
		if c.JSON {
			return e.printJSON(s)
		}
		fmt.Fprint(e.stdout, s.Summary())
		return nil
	}
	all, err := job.Jobs(c.Output)
	if err != nil {
		return err
	}
	for _, s := range all {
		job.Ask(ctx, s)
	}
	if c.JSON {
		return e.printJSON(append([]*job.State{}, all...))
	}
	if len(all) == 0 {
		e.Line("no jobs in " + c.Output)
		return nil
	}
	rows := [][]string{{"job", "name", "on", "stage", "since", "directory"}}
	for _, s := range all {
		stage := string(s.Stage)
		if s.Stage == job.Failed && s.Failure != nil {
			stage += " (" + string(s.Failure.Cause) + ")"
		}
		if s.Slurm != "" && !s.Stage.Ended() {
			stage += ", " + s.Slurm
		}
		rows = append(rows, []string{s.Job, s.Name, s.On, stage, s.Since.Local().Format("2006-01-02 15:04:05"), s.Dir})
	}
	return columns.Left(e.stdout, rows)
}

type jobLogsCmd struct {
	Job    string `arg:"" optional:"" placeholder:"ID" help:"The job, or its directory; default: the newest."`
	Of     string `arg:"" optional:"" placeholder:"WHO" help:"Whose log: part of a file name, such as prefill_w0 or profile_decode; default: the job's own."`
	Follow bool   `name:"follow" short:"f" help:"Keep printing until the job has ended."`
	jobPlace
}

// Help returns the end of the verb's help text.
func (c *jobLogsCmd) Help() string {
	return `Prints the log of a job, or of one of its workers or loads.

Examples:
  stepscope job logs 1234 --follow
  stepscope job logs 1234 decode_w0`
}

// Run prints the log.
func (c *jobLogsCmd) Run(ctx context.Context, e *env) error {
	s, err := job.Find(c.Output, c.Job)
	if err != nil {
		return err
	}
	over := func() bool { job.Ask(ctx, s); return s.Stage.Ended() }
	if c.Follow = c.Follow && !over(); c.Follow && c.Of == "" {
		return c.follow(ctx, e, s, over)
	}
	name, err := s.Output(cmp.Or(c.Of, "log"))
	if err != nil {
		return err
	}
	if c.Follow {
		_, err := job.Follow(ctx, s.Dir, name, e.data(), over)
		return err
	}
	f, err := atomicfile.Open(filepath.Join(s.Dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(e.data(), f)
	return err
}

// follow prints the log of the job until the job has ended. A Slurm job is followed through a step on the job's first
// node. If this machine does not share the job's directory, the step also sends the files.
func (c *jobLogsCmd) follow(ctx context.Context, e *env, s *job.State, over func() bool) error {
	if s.On != "slurm" {
		_, err := job.Follow(ctx, s.Dir, job.LogFile, e.data(), over)
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = job.Fetch(ctx, &job.Plan{Program: program, Job: &spec.Job{}}, s.Job, s.Dir, job.Token(s.Dir), e.data(), e.Line)
	return err
}

type jobCancelCmd struct {
	Job   string        `arg:"" placeholder:"ID" help:"The job, or its directory."`
	Grace time.Duration `name:"grace" default:"2m" help:"How long the job may take to shut down before it is killed."`
	jobPlace
}

// Help returns the end of the verb's help text.
func (c *jobCancelCmd) Help() string {
	return `Ends a job: its workers stop, existing files are collected, and nothing is left running.

Examples:
  stepscope job cancel 1234`
}

// Run ends the job.
func (c *jobCancelCmd) Run(ctx context.Context, e *env) error {
	s, err := job.Find(c.Output, c.Job)
	if err != nil {
		return err
	}
	if job.Ask(ctx, s); s.Stage.Ended() {
		return fmt.Errorf("job %s has ended: %s", s.Job, s.Stage)
	}
	s, err = job.Cancel(ctx, s, c.Grace, e.Line)
	if err != nil {
		return err
	}
	if s == nil {
		return errors.New("the job ended without a status")
	}
	fmt.Fprint(e.stdout, s.Summary())
	return nil
}

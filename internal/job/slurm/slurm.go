// Package slurm wraps Slurm's commands: it submits and cancels jobs, queries their states and starts steps. It parses
// the stdout of the commands. If a command fails, its stderr becomes the reason in the error.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// asking is the timeout of a query. Queries need a timeout because Slurm's controller may be down.
const asking = 60 * time.Second

// Error is the error message of a failed Slurm command.
type Error struct {
	Command string // such as sbatch or srun
	Text    string // stderr
	Err     error  // exit error
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	// The first line of an error message gives the reason; later lines describe consequences. A line that begins with
	// "fatal" is a complete message by itself.
	line, _, _ := strings.Cut(text, "\n")
	if _, fatal, ok := strings.Cut(text, ": fatal: "); ok {
		line, _, _ = strings.Cut(fatal, "\n")
	}
	return fmt.Sprintf("%s: %s", e.Command, strings.TrimPrefix(strings.TrimPrefix(line, e.Command+": "), "error: "))
}

func (e *Error) Unwrap() error { return e.Err }

// ErrNoSlurm means that Slurm's commands are missing.
var ErrNoSlurm = errors.New("a Slurm command, is not in PATH: run this on a host that can submit jobs")

// Available returns an error if a Slurm command is missing.
func Available() error {
	for _, name := range []string{"sbatch", "srun", "scontrol", "scancel", "squeue"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s, %w", name, ErrNoSlurm)
		}
	}
	return nil
}

// ask runs a Slurm command and returns its stdout.
func ask(ctx context.Context, stdin, name string, args ...string) (string, error) {
	limited, done := context.WithTimeout(ctx, asking)
	defer done()
	cmd := exec.CommandContext(limited, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s, %w", name, ErrNoSlurm)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", &Error{name, fmt.Sprintf("no answer within %v: is slurmctld up?", asking), limited.Err()}
	case err != nil:
		return "", &Error{name, stderr.String(), err}
	}
	return stdout.String(), nil
}

var jobID = regexp.MustCompile(`^[0-9]+$`)

// Submit submits a batch script with the given sbatch arguments and returns the job's id.
func Submit(ctx context.Context, script string, args ...string) (id string, err error) {
	out, err := ask(ctx, script, "sbatch", append([]string{"--parsable"}, args...)...)
	if err != nil {
		return "", err
	}
	// The last line is ID or ID;CLUSTER. A submission filter of the site may print lines before it.
	lines := strings.Split(strings.TrimSpace(out), "\n")
	id, _, _ = strings.Cut(lines[len(lines)-1], ";")
	if !jobID.MatchString(id) {
		return "", &Error{"sbatch", fmt.Sprintf("its output has no job id: %q", out), errors.New("no job id")}
	}
	return id, nil
}

// Cancel ends a job, a task of an array (ID_TASK) or a step (ID.STEP). Cancelling a job that has already ended is not
// an error.
func Cancel(ctx context.Context, id string) error { return signal(ctx, id) }

// Signal sends a signal, such as TERM, to all processes of a job's steps or of one step (ID.STEP). Slurm does not end
// the job or the step itself.
func Signal(ctx context.Context, id, name string) error { return signal(ctx, id, "--signal="+name) }

// SignalScript sends a signal only to the batch script of a job.
func SignalScript(ctx context.Context, id, name string) error {
	return signal(ctx, id, "--batch", "--signal="+name)
}

func signal(ctx context.Context, id string, args ...string) error {
	_, err := ask(ctx, "", "scancel", append(args, id)...)
	var e *Error
	if errors.As(err, &e) && gone(e.Text) {
		return nil
	}
	return err
}

// gone reports whether an error message means that a job or step is unknown or has ended.
func gone(text string) bool {
	return strings.Contains(text, "Invalid job id") || strings.Contains(text, "already completing or completed")
}

// Hostnames expands a node list such as node[1-3,7].
func Hostnames(ctx context.Context, list string) ([]string, error) {
	out, err := ask(ctx, "", "scontrol", "show", "hostnames", list)
	return strings.Fields(out), err
}

// Self returns the id of the job that contains this process, or ID_TASK if the job is a task of an array.
func Self() string {
	if id, task := os.Getenv("SLURM_ARRAY_JOB_ID"), os.Getenv("SLURM_ARRAY_TASK_ID"); id != "" && task != "" {
		return id + "_" + task
	}
	return os.Getenv("SLURM_JOB_ID")
}

// Allocation returns the id and the node list of the job that contains this process. Both are "" if no job does.
func Allocation() (id, nodes string) {
	return os.Getenv("SLURM_JOB_ID"), os.Getenv("SLURM_JOB_NODELIST")
}

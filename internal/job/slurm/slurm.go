// Package slurm runs Slurm's own commands: it submits jobs, asks what became of them,
// starts steps in them and cancels them. It reads what they write to stdout, and takes
// what they write to stderr for the reason when they fail.
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

// asking bounds how long one question to the controller takes: it may be down.
const asking = 60 * time.Second

// Error is what a command of Slurm said when it failed.
type Error struct {
	Command string // sbatch, srun, ...
	Text    string // its stderr
	Err     error  // how it ended
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	// The first line of an error says what is wrong, the others what follows of it; but
	// what is fatal says it all.
	line, _, _ := strings.Cut(text, "\n")
	if _, fatal, ok := strings.Cut(text, ": fatal: "); ok {
		line, _, _ = strings.Cut(fatal, "\n")
	}
	return fmt.Sprintf("%s: %s", e.Command, strings.TrimPrefix(strings.TrimPrefix(line, e.Command+": "), "error: "))
}

func (e *Error) Unwrap() error { return e.Err }

// ErrNoSlurm means that Slurm's commands are not there.
var ErrNoSlurm = errors.New("a command of Slurm, is not in PATH: run this on a host that submits jobs")

// Available tells whether Slurm's commands are there.
func Available() error {
	for _, name := range []string{"sbatch", "srun", "scontrol", "scancel", "squeue"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s, %w", name, ErrNoSlurm)
		}
	}
	return nil
}

// ask runs a command of Slurm and gives its stdout.
func ask(ctx context.Context, stdin, name string, args ...string) (string, error) {
	ctx, done := context.WithTimeout(ctx, asking)
	defer done()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s, %w", name, ErrNoSlurm)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", &Error{name, fmt.Sprintf("no answer within %v: is slurmctld up?", asking), ctx.Err()}
	case err != nil:
		return "", &Error{name, stderr.String(), err}
	}
	return stdout.String(), nil
}

var jobID = regexp.MustCompile(`^[0-9]+$`)

// Submit hands a batch script to Slurm, with the arguments of sbatch that stand before
// it, and gives the job's id.
func Submit(ctx context.Context, script string, args ...string) (id string, err error) {
	out, err := ask(ctx, script, "sbatch", append([]string{"--parsable"}, args...)...)
	if err != nil {
		return "", err
	}
	// ID, or ID;CLUSTER; a site's submission filter may say something before it.
	lines := strings.Split(strings.TrimSpace(out), "\n")
	id, _, _ = strings.Cut(lines[len(lines)-1], ";")
	if !jobID.MatchString(id) {
		return "", &Error{"sbatch", fmt.Sprintf("its answer has no job id: %q", out), errors.New("no job id")}
	}
	return id, nil
}

// Cancel ends a job, a task of an array (ID_TASK) or a step (ID.STEP). One that has
// ended is no error.
func Cancel(ctx context.Context, id string) error { return signal(ctx, id) }

// Signal sends a signal, such as TERM, to all processes of a job's steps, or of a step
// (ID.STEP), without ending it.
func Signal(ctx context.Context, id, name string) error { return signal(ctx, id, "--signal="+name) }

// SignalScript sends a signal to the batch script of a job alone.
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

// gone tells that Slurm does not know a job or step, or that it has ended.
func gone(text string) bool {
	return strings.Contains(text, "Invalid job id") || strings.Contains(text, "already completing or completed")
}

// Hostnames are the names in a list of nodes, as node[1-3,7].
func Hostnames(ctx context.Context, list string) ([]string, error) {
	out, err := ask(ctx, "", "scontrol", "show", "hostnames", list)
	return strings.Fields(out), err
}

// Self is the id of the job that this process runs in: of a task of an array, ID_TASK, as who submitted the array knows it.
func Self() string {
	if id, task := os.Getenv("SLURM_ARRAY_JOB_ID"), os.Getenv("SLURM_ARRAY_TASK_ID"); id != "" && task != "" {
		return id + "_" + task
	}
	return os.Getenv("SLURM_JOB_ID")
}

// Allocation is the job that this process runs in, and its nodes; "" if it runs in none.
func Allocation() (id, nodes string) {
	return os.Getenv("SLURM_JOB_ID"), os.Getenv("SLURM_JOB_NODELIST")
}

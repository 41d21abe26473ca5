package slurm

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Step is a step of a running job, with one task per node.
type Step struct {
	Job   string   // id or ID_TASK; "": this process's allocation
	Name  string   // shown by squeue --steps
	Nodes []string // empty: one node, which Slurm chooses
	Env   []string // KEY=VALUE, added to the environment of this process
	Dir   string   // working directory; "": the working directory of this process
	Args  []string // additional srun arguments, such as --container-image=...
}

// ending is the time that a step has to end after this process was asked to end.
const ending = 10 * time.Second

// Command returns the srun command that runs argv as the step. The step does not wait for other steps of the job. The
// stdout of the command is the stdout of the step's tasks. When ctx ends, Slurm kills the tasks at once. For an orderly
// shutdown, send a signal with Signal first.
func (s *Step) Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "srun", slices.Concat(s.args(), argv)...)
	cmd.Env = append(environment(s.Job != ""), s.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = ending
	return cmd
}

func (s *Step) args() []string {
	n := strconv.Itoa(max(1, len(s.Nodes)))
	args := []string{"--overlap", "--nodes=" + n, "--ntasks=" + n, "--export=ALL"}
	if s.Job != "" {
		args = append(args, "--jobid="+s.Job)
	}
	if s.Name != "" {
		args = append(args, "--job-name="+s.Name)
	}
	if len(s.Nodes) > 0 {
		args = append(args, "--nodelist="+strings.Join(s.Nodes, ","))
	}
	if s.Dir != "" {
		args = append(args, "--chdir="+s.Dir)
	}
	return append(args, s.Args...)
}

// environment returns the environment of this process for use by a step. If other is set, the step belongs to another
// job, and environment omits the variables that Slurm has set for the job of this process.
func environment(other bool) []string {
	env := os.Environ()
	if !other {
		return env
	}
	return slices.DeleteFunc(env, func(kv string) bool {
		return strings.HasPrefix(kv, "SLURM_") && !strings.HasPrefix(kv, "SLURM_CONF=") && !strings.HasPrefix(kv, "SLURM_CLUSTERS=")
	})
}

// Running is a running step.
type Running struct{ ID, Name, Nodes string }

// Steps returns the running steps of a job, except the step of the batch script.
func Steps(ctx context.Context, job string) (all []Running, err error) {
	out, err := ask(ctx, "", "squeue", "--noheader", "--steps", "--jobs="+job, "--format=%i|%N|%j")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSpace(line), "|", 3)
		if len(f) == 3 && !strings.HasSuffix(f[0], ".batch") && !strings.HasSuffix(f[0], ".extern") {
			all = append(all, Running{ID: f[0], Nodes: f[1], Name: f[2]})
		}
	}
	return all, nil
}

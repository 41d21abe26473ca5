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

// Step is a step of a job that runs: one task on each of its nodes.
type Step struct {
	Job   string   // its id, or ID_TASK; "": the allocation that this process is in
	Name  string   // as squeue --steps shows it
	Nodes []string // where it runs; none: on one node, which Slurm chooses
	Env   []string // KEY=VALUE, added to this process's environment
	Dir   string   // in which it runs; "": this process's
	Args  []string // more arguments of srun, as --container-image=...
}

// ending is how long a step has to end after this process was told to.
const ending = 10 * time.Second

// Command is the srun that runs a command line as the step, without waiting for other
// steps of the job. Its stdout is that of the tasks. When ctx ends, Slurm kills the tasks
// at once; what must end in order gets a Signal before.
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

// environment is this process's, for a step; of another job than the one that this
// process may be in, without what Slurm says of that one.
func environment(other bool) []string {
	env := os.Environ()
	if !other {
		return env
	}
	return slices.DeleteFunc(env, func(kv string) bool {
		return strings.HasPrefix(kv, "SLURM_") && !strings.HasPrefix(kv, "SLURM_CONF=") && !strings.HasPrefix(kv, "SLURM_CLUSTERS=")
	})
}

// Running is a step that runs.
type Running struct{ ID, Name, Nodes string }

// Steps are those of a job that run, the batch script not among them.
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

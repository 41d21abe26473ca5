package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/ranks"
)

// cluster selects the nodes on which a window is read, if it is not read on this machine.
type cluster struct {
	On       string        `default:"local" placeholder:"local|slurm|slurm:NODE,…" help:"Where to read the files: on this machine, in tasks on a Slurm cluster, or on these nodes of it, each from its own disk."`
	Tasks    string        `placeholder:"N[%K]" needs:"on=slurm" help:"Number of tasks, and how many run at the same time (default: one per eight files, at most 64)."`
	Within   time.Duration `default:"30m" help:"Give up on tasks that Slurm has not finished by then."`
	SlurmArg []string      `placeholder:"ARG" sep:"none" needs:"on=slurm" help:"An argument for sbatch; may be repeated."`
}

// options returns the options for reading a window on a cluster, or nil if it is read on this machine.
func (c *cluster) options() (*ranks.Options, error) {
	where, nodes, named := strings.Cut(c.On, ":")
	if where == "local" && !named {
		return nil, nil
	}
	o := &ranks.Options{Within: c.Within, Args: c.SlurmArg}
	if named {
		o.Nodes = strings.Split(nodes, ",")
	}
	if where != "slurm" || slices.Contains(o.Nodes, "") {
		return nil, usagef("--on %s: give local, slurm, or slurm:NODE,NODE", c.On)
	}
	if c.Within <= 0 {
		return nil, usagef("--within %v: give a time", c.Within)
	}
	if c.Tasks != "" {
		tasks, most, limited := strings.Cut(c.Tasks, "%")
		var err, mostErr error
		o.Tasks, err = strconv.Atoi(tasks)
		if limited {
			o.AtOnce, mostErr = strconv.Atoi(most)
		}
		if err != nil || mostErr != nil || o.Tasks < 1 || limited && o.AtOnce < 1 || named {
			return nil, usagef("--tasks %s: give N or N%%K, as 16%%4, where all nodes see all files", c.Tasks)
		}
	}
	program, err := os.Executable()
	o.Program = []string{program}
	return o, err
}

// summarize writes summaries of the ranks instead of an explanation.
func (c *analyzeCmd) summarize(ctx context.Context, e *env, in *window.Input, rules *kernel.Rules, servers int) error {
	switch {
	case servers > 1:
		return usagef("--summary takes the files of one server, and these belong to %d: give the directory of one", servers)
	case c.Summary == "-":
		return in.Summarize(ctx, e.Console, e.data(), rules)
	}
	path, err := target(c.Summary, "", "window.ranks")
	if err != nil {
		return err
	}
	err = atomicfile.Write(path, func(w io.Writer) error { return in.Summarize(ctx, e.Console, w, rules) })
	if err != nil {
		return atomicfile.Named(path, err)
	}
	return nil
}

// open returns the function that reads a window on a cluster, or nil if it is read on this machine.
func (c *analyzeCmd) open(e *env) (func(context.Context, *window.Input) (*window.Capture, error), error) {
	o, err := c.options()
	if o == nil || err != nil {
		return nil, err
	}
	if c.Rules != "" {
		rules, err := filepath.Abs(c.Rules)
		if err != nil {
			return nil, err
		}
		o.Flags = append(o.Flags, "--rules="+rules)
	}
	if c.From != 0 || c.To != 0 {
		o.Flags = append(o.Flags, fmt.Sprintf("--from=%g", c.From), fmt.Sprintf("--to=%g", c.To))
	}
	e.hold("Slurm to cancel the submitted jobs and for tasks to end")
	return func(ctx context.Context, in *window.Input) (*window.Capture, error) {
		return o.Read(ctx, e.Console, in)
	}, nil
}

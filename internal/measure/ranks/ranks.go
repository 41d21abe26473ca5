// Package ranks explains a window whose trace files are on a Slurm cluster. Slurm tasks summarise the files on nodes
// that can read them, and this process joins the summaries. On shared storage, the files are divided among the tasks.
// With local storage, each node summarises its own files.
package ranks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain/summary"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/job/scatter"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// Options configures how a window is summarised.
type Options struct {
	// Program summarises files. "analyze --summary=-", Flags and the paths are appended to it.
	Program []string
	Flags   []string      // additional flags of analyze, for all tasks
	Nodes   []string      // nodes with local files; empty: the files are on shared storage
	Tasks   int           // number of tasks; 0: one per filesEach files
	AtOnce  int           // maximum number of concurrent tasks
	Within  time.Duration // time limit of all tasks together
	Args    []string      // additional arguments of sbatch
}

var errSilent = errors.New("its task reported nothing about it")

// Default number of files per task, and maximum default number of tasks.
const (
	filesEach = 8
	mostTasks = 64
)

// Read summarises a window on the cluster and joins the summaries.
func (o *Options) Read(ctx context.Context, say *progress.Console, in *window.Input) (*window.Capture, error) {
	if len(o.Nodes) > 0 {
		return o.ofNodes(ctx, say, in)
	}
	chosen, _, err := in.Choose(say)
	if err != nil {
		return nil, err
	}
	byRank := chosen.ByRank()
	n := o.Tasks
	if n == 0 {
		n = min(mostTasks, (len(chosen.Files)+filesEach-1)/filesEach)
	}
	n = min(n, len(byRank))
	var tasks []scatter.Task
	var files [][]set.File
	for i := range n {
		share := slices.Concat(byRank[i*len(byRank)/n : (i+1)*len(byRank)/n]...)
		files = append(files, share)
		var paths []string
		for _, f := range share {
			paths = append(paths, f.Path)
		}
		task, err := o.task("", paths)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	parts, lost, err := o.run(ctx, say, tasks, in.Paths)
	if err != nil {
		return nil, err
	}
	var all []*summary.File
	var without []window.Lost
	for i, p := range parts {
		x := window.Lost{Why: cmp.Or(lost[i], errSilent)}
		for _, f := range files[i] {
			at := slices.IndexFunc(p.Files, func(x *summary.File) bool { return x.Of.Path == f.Path })
			if at >= 0 {
				all = append(all, p.Files[at])
			} else {
				x.Files = append(x.Files, f)
			}
		}
		if x.Files != nil {
			without = append(without, x)
		}
	}
	return in.Join(say, chosen, all, without)
}

// ofNodes runs one task per node. The task summarises the files that are on the node.
func (o *Options) ofNodes(ctx context.Context, say *progress.Console, in *window.Input) (*window.Capture, error) {
	var tasks []scatter.Task
	flags := o.Flags
	if in.ID != "" {
		flags = append(flags[:len(flags):len(flags)], "--profile-id="+in.ID)
	}
	for _, node := range o.Nodes {
		task, err := (&Options{Program: o.Program, Flags: flags}).task(node, in.Paths)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	parts, lost, err := o.run(ctx, say, tasks, in.Paths)
	if err != nil {
		return nil, err
	}
	var with []*window.Part
	for i, p := range parts {
		if p.From = o.Nodes[i]; len(p.Files) > 0 {
			with = append(with, p)
		}
	}
	for i, err := range lost {
		switch {
		case len(with) == 0:
			return nil, fmt.Errorf("%s: %w", o.Nodes[i], cmp.Or(err, errSilent))
		case err != nil:
			say.Lack("%s: %v; its part of the window is missing", o.Nodes[i], err)
		}
	}
	return window.JoinParts(say, with)
}

// task returns the task that summarises the files at paths. It makes the paths absolute, because the task runs in
// another working directory.
func (o *Options) task(node string, paths []string) (scatter.Task, error) {
	args := slices.Concat(o.Program, []string{"analyze", "--summary=-"}, o.Flags, []string{"--"})
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return scatter.Task{}, err
		}
		args = append(args, abs)
	}
	return scatter.Task{Node: node, Args: args}, nil
}

// run runs the tasks and reads their summaries. It replaces the file names in the summaries by the paths in given.
func (o *Options) run(ctx context.Context, say *progress.Console, tasks []scatter.Task, given []string) ([]*window.Part, []error, error) {
	parts := make([]*window.Part, len(tasks))
	for i := range parts {
		parts[i] = &window.Part{}
	}
	lost, err := scatter.Run(ctx, tasks, scatter.Options{
		Name: "stepscope-analyze", AtOnce: o.AtOnce, Within: o.Within, Args: o.Args, Say: say,
		Take: func(i int, stdout io.Reader) (err error) {
			parts[i], err = window.ReadPart("task "+strconv.Itoa(i), stdout)
			return err
		},
	})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range parts {
		for _, f := range p.Files {
			rename(f, given)
		}
	}
	return parts, lost, nil
}

// rename replaces the absolute name of a file by the matching path in given.
func rename(f *summary.File, given []string) {
	name := func(path string) string {
		for _, g := range given {
			abs, err := filepath.Abs(g)
			if err != nil || abs == g {
				continue
			}
			if path == abs {
				return g
			}
			if rest, ok := strings.CutPrefix(path, abs+string(filepath.Separator)); ok {
				return filepath.Join(g, rest)
			}
		}
		return path
	}
	f.Of.Path = name(f.Of.Path)
	for i := range f.Ranks {
		r := &f.Ranks[i]
		r.Source.Path = name(r.Source.Path)
		for k := range r.Notes {
			r.Notes[k].Source = name(r.Notes[k].Source)
		}
	}
}

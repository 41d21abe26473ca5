package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/runs"
)

// named opens the run that an argument names; see runs.Named.
func (p *runPlace) named(ref string) (*runs.Run, error) {
	root, _ := p.root() // without a home for runs, a run can still be given by its directory
	run, err := runs.Named(root, ref)
	return run, notFound(err)
}

// benchmarked reports whether a run is a benchmark.
func benchmarked(r *runs.Run) bool { return r.Loaded() || r.Batched() }

// build opens the run that an argument names, or the loads of several starts of one build, separated by commas. It
// returns nil if the argument is something else.
func (p *runPlace) build(ref string) (list []*runs.Run, err error) {
	refs := strings.Split(ref, ",")
	if _, err := os.Stat(ref); err == nil {
		refs = []string{ref}
	}
	for _, r := range refs {
		run, err := p.named(r)
		switch {
		case err != nil:
			return nil, err
		case run == nil && len(list) == 0:
			return nil, nil
		case len(refs) > 1 && !run.Loaded():
			return nil, usagef("%s is no load: commas separate the loads of several starts", r)
		case slices.ContainsFunc(list, func(o *runs.Run) bool { return o.ID() == run.ID() }):
			return nil, usagef("%s gives run %s twice: each start is one sample", ref, run.ID())
		}
		list = append(list, run)
	}
	return list, nil
}

// loads opens A and B if they are benchmark runs; both are nil if they are captures. It sets c.buildA and c.buildB to
// all their starts.
func (c *compareCmd) loads() (a, b *runs.Run, err error) {
	if c.buildA, err = c.build(c.A); err != nil {
		return nil, nil, err
	}
	if len(c.buildA) > 0 {
		a = c.buildA[0]
	}
	if c.B != "" {
		if c.buildB, err = c.build(c.B); err != nil {
			return nil, nil, err
		}
		if len(c.buildB) > 0 {
			b = c.buildB[0]
		}
	}
	switch {
	case !benchmarked(a) && !benchmarked(b):
		// Runs that have only traces count as captures.
		for _, side := range []struct {
			path *string
			run  *runs.Run
		}{{&c.A, a}, {&c.B, b}} {
			if side.run == nil {
				continue
			}
			traces := side.run.Traces()
			if len(traces) == 0 {
				return nil, nil, fmt.Errorf("run %s has neither a load nor batches nor traces", side.run.ID())
			}
			*side.path = filepath.Dir(traces[0])
		}
		return nil, nil, nil
	case c.B == "":
		if c.Ranks == "" {
			return nil, nil, usagef("nothing to compare with: give a second run, or compare two ranks of its traces: compare %s --ranks …", a.TracesDir())
		}
		return nil, nil, usagef("%s is a benchmark run: to compare its ranks: compare %s --ranks %s", c.A, a.TracesDir(), c.Ranks)
	case !benchmarked(a) || !benchmarked(b):
		load, capture, run, other := c.A, c.B, a, b
		if benchmarked(b) {
			load, capture, run, other = c.B, c.A, b, a
		}
		if _, err := os.Stat(capture); errors.Is(err, fs.ErrNotExist) && (run == a && b == nil || run == b && a == nil) {
			return nil, nil, fmt.Errorf("%s: no such run, file or directory; see: stepscope runs list", capture)
		}
		if other != nil && other.Status() != runs.Complete && len(other.Traces()) == 0 {
			return nil, nil, fmt.Errorf("run %s has no results to compare: it is %s", other.ID(), other.Status())
		}
		hint := "it has no traces"
		if len(run.Traces()) > 0 {
			hint = "its traces are in " + run.TracesDir()
		}
		return nil, nil, usagef("%s is a benchmark run and %s a capture: give two of a kind (%s)", load, capture, hint)
	case a.Batched() != b.Batched() || a.Batched() && a.Manifest().Tool != b.Manifest().Tool:
		return nil, nil, usagef("%s is a run of %s and %s one of %s, which measure different things: give two of a kind", c.A, a.Manifest().Tool, c.B, b.Manifest().Tool)
	}
	return a, b, c.noCaptures("benchmark runs")
}

// runsCompared is the JSON form of a comparison of runs. It includes a comparison of captures if both runs have
// captures.
type runsCompared struct {
	*bench.Comparison
	Captures *result.Comparison `json:"captures,omitempty"`
}

// compareRuns compares two benchmarks, and also their captures if both have captures.
func (c *compareCmd) compareRuns(ctx context.Context, e *env, a, b *runs.Run) error {
	if err := c.limits.Check(bench.LimitNames(a.Batched())); err != nil {
		return usagef("--fail-on %v", err)
	}
	loads, err := runs.Compare(e.Console, c.buildA, c.buildB, bench.CompareOptions{Limits: c.limits, Force: c.Force})
	if err != nil {
		return err
	}
	out := runsCompared{Comparison: loads}
	var captures *result.Comparison
	switch dirs := max(traceDirs(a), traceDirs(b)); {
	case len(a.Traces()) == 0 || len(b.Traces()) == 0:
	case dirs > 1:
		e.Warn("both runs have captures of several servers; to compare one server: stepscope compare %s %s", a.TracesDir(), b.TracesDir())
	default:
		of := *c
		of.A, of.B, of.limits = a.TracesDir(), b.TracesDir(), nil
		switch captures, err = of.captures(ctx, e); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			e.Lack("the captures of the runs are not compared: %v", err)
		default:
			out.Captures = report.Plain(captures)
			for i := range out.Captures.Causes {
				loads.Causes = append(loads.Causes, out.Captures.Causes[i].Text.Text)
			}
		}
	}
	return c.show(e, out, func(o report.Options) *report.Comparison {
		v := report.BenchCompared(loads, o)
		if captures != nil {
			v.WithCaptures(c.compared(captures, o))
		}
		return v
	}, loads.Refused)
}

// traceDirs returns the number of directories of a run that contain traces. There is one such directory per server.
func traceDirs(r *runs.Run) int {
	dirs := map[string]bool{}
	for _, path := range r.Traces() {
		dirs[filepath.Dir(path)] = true
	}
	return len(dirs)
}

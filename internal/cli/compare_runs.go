package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/runs"
)

// named opens the run that a word of the command line names: an id or a part of
// one, "last", or a run's directory. nil: it names files, or nothing.
func (p *runPlace) named(ref string) (*runs.Run, error) {
	if _, err := os.Stat(ref); err == nil {
		if _, err := os.Stat(filepath.Join(ref, "manifest.json")); err != nil {
			return nil, nil
		}
	}
	root, _ := p.root() // without a home for runs, their directories can still be named
	run, err := runs.Open(root, ref)
	if errors.Is(err, runs.ErrNotFound) {
		if ref == "last" {
			return nil, notFound(err)
		}
		return nil, nil
	}
	return run, err
}

// hasRecords tells whether a run has the requests of a load.
func hasRecords(r *runs.Run) bool { return r != nil && len(r.Files(runs.KindRecords)) > 0 }

// tracesOf are the files of a run's ranks, whether they are still there or not.
func tracesOf(r *runs.Run) (paths []string) {
	for _, f := range r.Files(runs.KindTrace) {
		paths = append(paths, r.Path(f.Path))
	}
	return paths
}

// readLoad reads the load of a run, each repetition apart.
func (e *env) readLoad(r *runs.Run) (bench.Load, error) {
	l := bench.Load{ID: r.ID()}
	var all []*bench.Run
	if err := r.ReadJSON(runs.KindRun, &all); err != nil {
		return l, err
	}
	for _, run := range all {
		if run == nil {
			return l, fmt.Errorf("run %s: run.json holds no run", r.ID())
		}
		l.Runs = append(l.Runs, bench.Measured{Run: run})
	}
	// Records of one repetition follow those of the one before: a request that was
	// there already begins the next.
	type place struct{ index, turn int }
	at, seen := 0, map[place]bool{}
	for rec, err := range r.Records() {
		if errors.Is(err, runs.ErrCut) {
			e.Warn("%v", err)
			e.Incomplete()
			break
		}
		if err != nil {
			return l, err
		}
		p := place{rec.Index, rec.Turn}
		if seen[p] {
			clear(seen)
			at++
		}
		if at == len(l.Runs) {
			return l, fmt.Errorf("run %s: run.json tells of %d repetitions, and the records of more", r.ID(), len(l.Runs))
		}
		seen[p] = true
		l.Runs[at].Records = append(l.Runs[at].Records, *rec)
	}
	if len(l.Runs) == 0 || len(l.Runs[0].Records) == 0 {
		return l, fmt.Errorf("run %s has no records: nothing was measured", r.ID())
	}
	l.Runs = l.Runs[:at+1]
	return l, nil
}

// hasBatches tells whether a run is of a benchmark of batches.
func hasBatches(r *runs.Run) bool { return r != nil && len(r.Files(runs.KindBatches)) > 0 }

// benchmarked tells whether a run is of a benchmark.
func benchmarked(r *runs.Run) bool { return hasRecords(r) || hasBatches(r) }

// loads opens A and B if they are benchmark runs; both nil if they are captures.
func (c *compareCmd) loads() (a, b *runs.Run, err error) {
	if a, err = c.named(c.A); err != nil {
		return nil, nil, err
	}
	if c.B != "" {
		if b, err = c.named(c.B); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case !benchmarked(a) && !benchmarked(b):
		// Runs of traces alone are captures.
		for _, side := range []struct {
			path *string
			run  *runs.Run
		}{{&c.A, a}, {&c.B, b}} {
			if side.run == nil {
				continue
			}
			traces := tracesOf(side.run)
			if len(traces) == 0 {
				return nil, nil, fmt.Errorf("run %s has neither a load nor batches nor traces", side.run.ID())
			}
			*side.path = filepath.Dir(traces[0])
		}
		return nil, nil, nil
	case c.B == "":
		if c.Ranks == "" {
			return nil, nil, usagef("compare with what? give a second run; two ranks of the traces of this one are compared by: compare %s --ranks …", tracesAt(a))
		}
		return nil, nil, usagef("%s is a benchmark run: its ranks are compared by: compare %s --ranks %s", c.A, tracesAt(a), c.Ranks)
	case !benchmarked(a) || !benchmarked(b):
		load, capture, run, other := c.A, c.B, a, b
		if benchmarked(b) {
			load, capture, run, other = c.B, c.A, b, a
		}
		if _, err := os.Stat(capture); errors.Is(err, fs.ErrNotExist) && (run == a && b == nil || run == b && a == nil) {
			return nil, nil, fmt.Errorf("%s: no such run, file or directory; see: stepscope runs list", capture)
		}
		if other != nil && other.Status() != runs.Complete && len(tracesOf(other)) == 0 {
			return nil, nil, fmt.Errorf("run %s has no results to compare: it is %s", other.ID(), other.Status())
		}
		hint := "it has no traces"
		if len(tracesOf(run)) > 0 {
			hint = "its traces are in " + tracesAt(run)
		}
		return nil, nil, usagef("%s is a benchmark run and %s a capture: give two of a kind (%s)", load, capture, hint)
	case hasBatches(a) != hasBatches(b) || hasBatches(a) && a.Manifest().Tool != b.Manifest().Tool:
		return nil, nil, usagef("%s is a run of %s and %s one of %s, which measure different things: give two of a kind", c.A, a.Manifest().Tool, c.B, b.Manifest().Tool)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Ranks != "", "--ranks"}, {len(c.ProfileID) > 0, "--profile-id"}, {c.Markdown, "--markdown"}, {c.Rules != "", "--rules"}} {
		if f.on {
			return nil, nil, usagef("%s is for captures, and these are benchmark runs", f.name)
		}
	}
	return a, b, nil
}

// tracesAt is the directory of a run's traces.
func tracesAt(r *runs.Run) string {
	if t := tracesOf(r); len(t) > 0 {
		return filepath.Dir(t[0])
	}
	return r.Path("traces")
}

// readBatches reads the batches of a run, as far as they were written.
func (e *env) readBatches(r *runs.Run) (bench.Batches, error) {
	m := r.Manifest()
	out := bench.Batches{ID: r.ID(), Backend: m.Backend, Model: m.Model}
	var err error
	out.Batches, err = r.Batches()
	if errors.Is(err, runs.ErrCut) {
		e.Warn("%v", err)
		e.Incomplete()
		err = nil
	}
	return out, err
}

// compareLoads sets one benchmark against another.
func (c *compareCmd) compareLoads(e *env, runA, runB *runs.Run, limit float64) error {
	if hasBatches(runA) {
		return c.compareBatches(e, runA, runB, limit)
	}
	a, err := e.readLoad(runA)
	if err != nil {
		return err
	}
	b, err := e.readLoad(runB)
	if err != nil {
		return err
	}
	result := bench.Compare(a, b, bench.CompareOptions{FailOn: limit})
	return c.compared(e, runA, runB, result)
}

// compared prints a comparison of runs, and judges it.
func (c *compareCmd) compared(e *env, a, b *runs.Run, result *bench.Comparison) (err error) {
	if c.JSON {
		err = report.BenchCompareJSON(e.stdout, result)
	} else {
		o := report.Options{}
		o.Width, o.Color = e.screen()
		err = report.BenchCompareText(e.stdout, result, o)
	}
	if err != nil {
		return err
	}
	if len(tracesOf(a)) > 0 && len(tracesOf(b)) > 0 && filepath.Base(tracesAt(a)) == filepath.Base(tracesAt(b)) {
		e.Warn("both runs have traces: stepscope compare %s %s compares those", tracesAt(a), tracesAt(b))
	}
	if len(result.Regressions) > 0 {
		return errRegression
	}
	return nil
}

func (c *compareCmd) compareBatches(e *env, runA, runB *runs.Run, limit float64) error {
	a, err := e.readBatches(runA)
	if err != nil {
		return err
	}
	b, err := e.readBatches(runB)
	if err != nil {
		return err
	}
	result, err := bench.CompareBatches(a, b, bench.CompareOptions{FailOn: limit})
	if err != nil {
		return err
	}
	ma, mb := runA.Manifest(), runB.Manifest()
	if ma.PlanHash != mb.PlanHash {
		result.Notes = append(result.Notes, "the runs asked for different requests")
	}
	for _, r := range []*runs.Run{runA, runB} {
		if s := r.Status(); s != runs.Complete {
			result.Notes = append(result.Notes, fmt.Sprintf("%s is %s: it may lack batches", r.ID(), s))
		}
	}
	return c.compared(e, runA, runB, result)
}

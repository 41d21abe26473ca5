package cli

import (
	"fmt"
	"os"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/runs"
)

// loadSide is a side of a comparison with the result of another benchmark client.
type loadSide struct {
	load    bench.Load    // without runs: the values of single requests are not known
	totals  *bench.Totals // nil: not known
	untimed bool          // the requests have no send times
	notes   []string
}

// foreign compares A and B if one of them is the result of another benchmark client. done is false if neither is.
func (c *compareCmd) foreign(e *env) (done bool, err error) {
	a, err := c.foreignSide(c.A)
	if err != nil {
		return false, err
	}
	b, err := c.foreignSide(c.B)
	switch {
	case err != nil:
		return false, err
	case a == nil && b == nil:
		return false, nil
	case c.B == "":
		return false, usagef("nothing to compare with: give a second result")
	}
	for _, side := range []struct {
		ref   string
		of    **loadSide
		other string
	}{{c.A, &a, c.B}, {c.B, &b, c.A}} {
		if *side.of != nil {
			continue
		}
		if *side.of, err = c.ownSide(e, side.ref); err != nil {
			return false, err
		}
		if *side.of == nil {
			return false, usagef("%s is the result of a benchmark, and %s is not: give two of a kind", side.other, side.ref)
		}
	}
	if err := c.noCaptures("results of benchmarks"); err != nil {
		return false, err
	}
	if err := c.limits.Check(bench.LimitNames(false)); err != nil {
		return false, usagef("--fail-on %v", err)
	}
	var out *bench.Comparison
	opt := bench.CompareOptions{Limits: c.limits, Force: c.Force}
	switch {
	case len(a.load.Runs) > 0 && len(b.load.Runs) > 0:
		if out = bench.Compare(a.load, b.load, opt); a.untimed || b.untimed {
			out.DropTimed()
		}
	case a.totals == nil || b.totals == nil:
		return false, fmt.Errorf("%s and %s have no figures in common: one has only totals, the other only requests", c.A, c.B)
	default:
		out = bench.CompareTotals(a.totals, b.totals, opt)
	}
	out.Notes = append(append(out.Notes, a.notes...), b.notes...)
	return true, c.show(e, out, func(o report.Options) *report.Comparison { return report.BenchCompared(out, o) }, out.Refused)
}

// foreignSide reads the result of another client: a file, or an imported run without requests. It returns nil if ref
// names neither.
func (c *compareCmd) foreignSide(ref string) (*loadSide, error) {
	path, id := ref, ""
	if st, err := os.Stat(ref); err != nil || st.IsDir() {
		run, err := c.named(ref)
		if err != nil || run == nil || benchmarked(run) || len(run.Traces()) > 0 {
			return nil, nil // the caller reports errors
		}
		if path, id = figuresOf(run), run.ID(); path == "" {
			return nil, nil
		}
	}
	if !runs.IsForeign(path) {
		return nil, nil
	}
	f, err := runs.ReadForeign(path)
	if err != nil {
		return nil, err
	}
	if id != "" {
		f.Totals.ID = id
	}
	s := &loadSide{totals: &f.Totals}
	if f.Records != nil {
		s.load, s.untimed = f.Load(), !f.Timed
	}
	for _, n := range f.Notes {
		s.notes = append(s.notes, f.Totals.ID+": "+n)
	}
	return s, nil
}

// ownSide reads a benchmark run; nil: ref names none.
func (c *compareCmd) ownSide(e *env, ref string) (*loadSide, error) {
	run, err := c.named(ref)
	if err != nil || !run.Loaded() {
		return nil, err
	}
	s := &loadSide{}
	if s.load, err = run.Load(e.Console); err != nil {
		return nil, err
	}
	if path := figuresOf(run); path != "" {
		if f, err := runs.ReadForeign(path); err == nil {
			f.Totals.ID, s.totals = run.ID(), &f.Totals
		}
	}
	return s, nil
}

// figuresOf returns the path of a run's file with figures in the format of a benchmark client; "": none.
func figuresOf(run *runs.Run) string {
	for _, f := range run.Files(runs.KindFigures) {
		if path := run.Path(f.Path); runs.IsForeign(path) {
			return path
		}
	}
	return ""
}

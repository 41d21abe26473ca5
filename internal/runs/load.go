package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/progress"
)

// Named opens the run that ref identifies: an id or a part of an id, "last", or the directory of a run. If ref is
// another path, Named returns nil without an error, because ref may name another file.
func Named(root, ref string) (*Run, error) {
	if _, err := os.Stat(ref); err == nil {
		if _, err := os.Stat(filepath.Join(ref, manifestFile)); err != nil {
			return nil, nil
		}
	}
	run, err := Open(root, ref)
	if errors.Is(err, ErrNotFound) && ref != "last" {
		return nil, nil
	}
	return run, err
}

// has reports whether the run has files of a kind. r may be nil.
func (r *Run) has(kind Kind) bool { return r != nil && len(r.Files(kind)) > 0 }

// Loaded reports whether the run has the requests of a load. r may be nil.
func (r *Run) Loaded() bool { return r.has(KindRecords) }

// Batched reports whether the run is a batch benchmark. r may be nil.
func (r *Run) Batched() bool { return r.has(KindBatches) }

// Traces returns the paths of the trace files in the manifest, including files that do not exist.
func (r *Run) Traces() (paths []string) {
	for _, f := range r.Files(KindTrace) {
		paths = append(paths, r.Path(f.Path))
	}
	return paths
}

// TracesDir is the directory of the run's traces.
func (r *Run) TracesDir() string {
	if t := r.Traces(); len(t) > 0 {
		return filepath.Dir(t[0])
	}
	return r.Path("traces")
}

// Reports returns the paths of the reports written by nsys run.
func (r *Run) Reports() (paths []string) {
	for _, f := range r.Files(Nsys) {
		if f.Format == "nsys-rep" {
			paths = append(paths, r.Path(f.Path))
		}
	}
	return paths
}

// Load reads the load of the run. It separates the repetitions.
func (r *Run) Load(say *progress.Console) (bench.Load, error) {
	l := bench.Load{ID: r.ID()}
	var all []*bench.Run
	if err := r.ReadJSON(KindRun, &all); err != nil {
		return l, err
	}
	for _, run := range all {
		if run == nil {
			return l, fmt.Errorf("run %s: run.json does not describe a run", r.ID())
		}
		l.Runs = append(l.Runs, bench.Measured{Run: run})
	}
	// The records of one repetition follow the records of the previous repetition. If a request has already occurred,
	// the record belongs to the next repetition.
	type place struct{ index, turn int }
	at, seen := 0, map[place]bool{}
	for rec, err := range r.Records() {
		if errors.Is(err, ErrCut) {
			say.Lack("%v", err)
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
			return l, fmt.Errorf("run %s: run.json lists %d repetitions, but the records contain more", r.ID(), len(l.Runs))
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

// Measured reads the batches of the run that were written completely.
func (r *Run) Measured(say *progress.Console) (bench.Batches, error) {
	m := r.Manifest()
	out := bench.Batches{ID: r.ID(), Backend: m.Backend, Model: m.Model}
	var err error
	if r.has(KindServerArgs) {
		_ = r.ReadJSON(KindServerArgs, &out.Server) // unreadable arguments are ignored
	}
	out.Batches, err = r.Batches()
	if errors.Is(err, ErrCut) {
		say.Lack("%v", err)
		err = nil
	}
	return out, err
}

// loaded reads the load of a build: one run, or one repetition for each of several starts, which must have the same load.
func loaded(say *progress.Console, starts []*Run) (bench.Load, error) {
	if len(starts) == 1 {
		return starts[0].Load(say)
	}
	var all bench.Load
	for i, r := range starts {
		l, err := r.Load(say)
		if err != nil {
			return l, err
		}
		if len(l.Runs) != 1 {
			return l, fmt.Errorf("run %s has %d repetitions: each of several starts needs one, since the repetitions of one start are not independent samples", l.ID, len(l.Runs))
		}
		if i > 0 {
			all.ID += ","
			if a, b := all.Runs[0].Run, l.Runs[0].Run; a.Model != b.Model || a.Dataset != b.Dataset || a.RateText() != b.RateText() || a.MaxConcurrency != b.MaxConcurrency {
				return l, fmt.Errorf("runs %s and %s have different loads, so they are no starts of one build: give runs of one command", starts[0].ID(), l.ID)
			}
		}
		all.ID += l.ID
		all.Runs = append(all.Runs, l.Runs...)
	}
	return all, nil
}

// Compare compares build b with build a, the baseline. Each is a run of the same benchmark, or several starts with one
// load each.
func Compare(say *progress.Console, buildA, buildB []*Run, opt bench.CompareOptions) (*bench.Comparison, error) {
	r, other := buildA[0], buildB[0]
	if !r.Batched() {
		a, err := loaded(say, buildA)
		if err != nil {
			return nil, err
		}
		b, err := loaded(say, buildB)
		if err != nil {
			return nil, err
		}
		return bench.Compare(a, b, opt), nil
	}
	a, err := r.Measured(say)
	if err != nil {
		return nil, err
	}
	b, err := other.Measured(say)
	if err != nil {
		return nil, err
	}
	c, err := bench.CompareBatches(a, b, opt)
	if err != nil {
		return nil, err
	}
	if r.Manifest().PlanHash != other.Manifest().PlanHash {
		c.Notes = append(c.Notes, "the runs planned different requests")
	}
	for _, x := range []*Run{r, other} {
		if s := x.Status(); s != Complete {
			c.Notes = append(c.Notes, fmt.Sprintf("%s is %s: it may lack batches", x.ID(), s))
		}
	}
	return c, nil
}

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/kineto"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// readReport gives the ranks in a report of Nsight Systems, or in its export.
func (e *env) readReport(ctx context.Context, in inputs, f set.File) ([]*trace.Trace, error) {
	if e.report != nil {
		return e.report(ctx, f.Path)
	}
	return read.ReadFile(ctx, f, e.readOptions(in))
}

// textSet is a set whose files are all Chrome JSON, for the verbs that work on
// the text of events.
type textSet struct {
	set.Set
	original set.Set
	dir      string   // of the files made; "": none
	names    []string // pairs: a file made, the report that it is of
}

// asText writes the reports of a set as files of PyTorch's profiler, one a
// rank, into a directory of their own; all else stays as it is. What could not
// be read is named on stderr. The caller calls close when it is done.
func (e *env) asText(ctx context.Context, in inputs, window set.Set) (*textSet, error) {
	t := &textSet{Set: window, original: window}
	if !slices.ContainsFunc(window.Files, func(f set.File) bool { return f.Report() }) {
		return t, nil
	}
	var err error
	if t.dir, err = os.MkdirTemp("", "stepscope-reports-"); err != nil {
		return nil, err
	}
	meter := e.meter("read", inputBytes(window))
	defer meter.Close()
	t.Files = nil
	var places read.Places
	for i, f := range window.Files {
		if !f.Report() {
			t.Files = append(t.Files, f)
			continue
		}
		traces, err := e.readReport(ctx, in, f)
		if ctx.Err() != nil {
			err = ctx.Err()
		} else if err != nil && len(window.Files) == 1 {
			t.close()
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		} else if err != nil {
			e.warn("%s: %v", f.Path, err)
			e.incomplete()
			continue
		}
		if len(window.Files) > 1 {
			places.Take(traces)
		}
		for j := range traces {
			if err == nil {
				err = t.add(e, f, fmt.Sprintf("%d.%d", i, j), traces[j])
			}
			traces[j] = nil // it may be large
		}
		if err != nil {
			t.close()
			return nil, err
		}
		meter.Add(f.Size)
	}
	if len(t.Files) == 0 {
		t.close()
		return nil, fmt.Errorf("%s: nothing could be read", window.ID)
	}
	slices.SortStableFunc(t.Files, func(a, b set.File) int { return a.Name.Rank.Compare(b.Name.Rank) })
	return t, nil
}

// add writes one rank of a report, into a directory of its own since ranks may
// have the same name.
func (t *textSet) add(e *env, report set.File, place string, tr *trace.Trace) error {
	for _, n := range tr.Notes {
		if n.Severity >= trace.Warning {
			e.warnNote(report.Path, n)
		}
		if n.Severity == trace.Loss {
			e.incomplete()
		}
	}
	name := trace.FileName{ID: t.ID, Rank: tr.Source.Rank, Stage: tr.Source.Stage}
	if name.Rank == trace.NoRank {
		base := filepath.Base(report.Path)
		name.ID = strings.TrimSuffix(base, trace.ReportSuffix(base))
	}
	dir := filepath.Join(t.dir, place)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	path := filepath.Join(dir, name.String())
	if err := kineto.WriteFile(path, tr); err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	label := report.Path
	if tr.Source.Rank != trace.NoRank {
		label += " (" + strings.TrimSpace(tr.Source.Rank.String()+" "+tr.Source.Stage) + ")"
	}
	t.names = append(t.names, path, label)
	t.Files = append(t.Files, set.File{Path: path, Name: name, Named: name.Rank != trace.NoRank, Size: st.Size()})
	return nil
}

// close removes what asText wrote.
func (t *textSet) close() {
	if t.dir != "" {
		os.RemoveAll(t.dir)
	}
}

// told puts the reports' names for those of the files made, in what is shown.
func (t *textSet) told(s string) string {
	return strings.NewReplacer(t.names...).Replace(s)
}

// notAnInput refuses to write over a report.
func (t *textSet) notAnInput(out string) error {
	if out == "-" {
		return nil
	}
	for _, f := range t.original.Files {
		one := set.Set{Files: []set.File{f}}
		if f.Report() {
			if err := one.NotAnInput(out); err != nil {
				return err
			}
		}
	}
	return nil
}

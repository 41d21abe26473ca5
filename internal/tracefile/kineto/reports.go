package kineto

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Set is a window whose files are all Chrome JSON, for code that works on the text of events.
type Set struct {
	set.Set
	original set.Set
	dir      string   // directory of the written files; "": none
	remove   func()   // removes dir
	names    []string // pairs: the name of a written file, then the name of its report
}

// ReadFile returns the ranks in a report.
type ReadFile func(ctx context.Context, f set.File) ([]*trace.Trace, error)

// FromReports writes the reports in a window as files of PyTorch's profiler, one per rank, into a temporary directory.
// It also writes files with the vocabulary of other producers, if meaning is set: the caller needs the meaning of
// events, not only their text. The rest stays as it is. FromReports prints which files could not be read. The caller
// must call Close.
func FromReports(ctx context.Context, say *progress.Console, window set.Set, meaning bool, readFile ReadFile) (*Set, error) {
	t := &Set{Set: window, original: window}
	stays := func(f set.File) bool { return !f.Report() && !(meaning && f.Format == format.Ascend) }
	if !slices.ContainsFunc(window.Files, func(f set.File) bool { return !stays(f) }) {
		return t, nil
	}
	var err error
	if t.dir, t.remove, err = atomicfile.TempDir("stepscope-reports-"); err != nil {
		return nil, err
	}
	meter := say.Meter("read", window.Bytes())
	defer meter.Close()
	t.Files = nil
	var places read.Places
	for i, f := range window.Files {
		if stays(f) {
			t.Files = append(t.Files, f)
			continue
		}
		traces, err := readFile(ctx, f)
		if ctx.Err() != nil {
			err = ctx.Err()
		} else if err != nil && len(window.Files) == 1 {
			t.Close()
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		} else if err != nil {
			say.Lack("%s: %v", f.Path, err)
			continue
		}
		if len(window.Files) > 1 && f.Report() {
			places.Take(traces)
		}
		for j := range traces {
			if err == nil {
				err = t.add(say, f, fmt.Sprintf("%d.%d", i, j), traces[j])
			}
			traces[j] = nil // release the memory
		}
		if err != nil {
			t.Close()
			return nil, err
		}
		meter.Add(f.Size)
	}
	if len(t.Files) == 0 {
		t.Close()
		return nil, fmt.Errorf("%s: nothing could be read", window.ID)
	}
	sorts.Stable(t.Files, func(a, b set.File) int { return a.Name.Rank.Compare(b.Name.Rank) })
	return t, nil
}

// add writes one rank of a report. Each rank gets a separate directory because two ranks may have the same file name.
func (t *Set) add(say *progress.Console, report set.File, place string, tr *trace.Trace) error {
	set.SayNotes(say, report.Path, tr.Notes)
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
	if err := WriteFile(path, tr); err != nil {
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

// Close removes the files that FromReports wrote.
func (t *Set) Close() {
	if t.dir != "" {
		t.remove()
	}
}

// Told replaces the name of each written file in a message by the name of its report.
func (t *Set) Told(s string) string {
	return strings.NewReplacer(t.names...).Replace(s)
}

// NotAnInput refuses an output path that is a directory or one of the window's files, including reports. "-" is stdout.
func (t *Set) NotAnInput(path string) error {
	if path == "-" {
		return nil
	}
	return t.original.NotAnInput(path)
}

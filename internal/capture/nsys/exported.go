package nsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/trace"
)

// Exported returns the SQLite export of a report. If the report's directory has no export that is newer than the
// report, Exported makes a temporary export. The function done removes the temporary export. For a file that is not a
// report, Exported returns the path of the file itself. Errors do not name the report.
func Exported(ctx context.Context, path string) (db string, done func(), err error) {
	done = func() {}
	if format.Of(path) != format.NsysReport && !trace.IsReport(path) {
		return path, done, nil
	}
	report, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such file or directory")
		}
		return "", done, err
	}
	beside := ExportName(path)
	there := format.Of(beside) == format.NsysExport
	if st, err := os.Stat(beside); there && err == nil && st.ModTime().After(report.ModTime()) {
		return beside, done, nil
	}
	dir, remove, err := atomicfile.TempDir("stepscope-export-")
	if err != nil {
		return "", done, err
	}
	done = remove
	db = filepath.Join(dir, filepath.Base(beside))
	if err := Export(ctx, path, db); err != nil {
		done()
		if there && ctx.Err() == nil {
			err = fmt.Errorf("%w; %s is next to it but not newer: give that file if it is the export of this report", err, beside)
		}
		return "", func() {}, err
	}
	return db, done, nil
}

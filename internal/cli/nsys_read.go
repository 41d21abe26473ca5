package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// exported gives the SQLite export of a report, made for the time being where
// there is none beside it that is newer; done removes what was made. Any other
// file is given back as it is. Errors do not name the report.
func (e *env) exported(ctx context.Context, path string) (db string, done func(), err error) {
	done = func() {}
	if !strings.HasSuffix(path, ".nsys-rep") {
		return path, done, nil
	}
	report, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such file or directory")
		}
		return "", done, err
	}
	beside := nsys.ExportName(path)
	there := set.Exported(beside)
	if st, err := os.Stat(beside); there && err == nil && st.ModTime().After(report.ModTime()) {
		return beside, done, nil
	}
	dir, err := os.MkdirTemp("", "stepscope-export-")
	if err != nil {
		return "", done, err
	}
	done = func() { os.RemoveAll(dir) }
	db = filepath.Join(dir, filepath.Base(beside))
	if err := nsys.Export(ctx, path, db); err != nil {
		done()
		if there && ctx.Err() == nil {
			err = fmt.Errorf("%w; %s lies beside it, but is not newer: give that if it is this report's", err, beside)
		}
		return "", func() {}, err
	}
	return db, done, nil
}

// readOptions are how the verbs read captures.
func (e *env) readOptions(in inputs) read.Options {
	return read.Options{Export: e.exported, Nsys: in.read}
}

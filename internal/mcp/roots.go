package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// roots are the directories below which captures may be read.
type roots struct {
	dirs []string // absolute, without links
	runs string   // directory of the runs, also a root; "": none
}

// newRoots resolves the directories once, so that a later change of a link does not change a root.
func newRoots(dirs []string, runDir string) (*roots, error) {
	r := &roots{}
	if runDir != "" {
		abs, err := filepath.Abs(runDir)
		if err != nil {
			return nil, err
		}
		r.runs = abs
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			r.runs, dirs = real, append([]string{real}, dirs...)
		}
	}
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err == nil {
			var st fs.FileInfo
			if st, err = os.Stat(abs); err == nil && !st.IsDir() {
				err = errors.New("not a directory")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--root %s: %w", dir, err)
		}
		r.dirs = append(r.dirs, abs)
	}
	return r, nil
}

// mostFiles limits the number of files below a path, so that a path such as / ends with an error and not with a search
// of the whole disk.
const mostFiles = 20_000

// find resolves ref: the id of a run, "last", or a path below a root. Paths that are not absolute are tried below each
// root. find returns an absolute path, or the id of a run as it is.
func (r *roots) find(ref string) (string, error) {
	if ref == "" || strings.ContainsRune(ref, 0) {
		return "", errors.New("run is empty: give the id of a run, last, or a path")
	}
	var unclear error // an id of several runs
	if r.runs != "" && !strings.ContainsAny(ref, `/\`) {
		id, err := r.id(ref)
		switch {
		case err == nil:
			dir := filepath.Join(r.runs, id) // may be a link to another disk; its files may not lead out of it
			_, err := below(dir, ".")
			return dir, err
		case ref == "last":
			return "", err
		case !errors.Is(err, runs.ErrNotFound):
			unclear = err
		}
	}
	for _, dir := range r.dirs {
		rel := ref
		if filepath.IsAbs(ref) {
			var err error
			if rel, err = filepath.Rel(dir, filepath.Clean(ref)); err != nil {
				continue
			}
		}
		path, err := below(dir, rel)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && filepath.IsLocal(rel) {
			return path, err
		}
	}
	if unclear != nil {
		return "", unclear
	}
	return "", fmt.Errorf("%s: no run has this id, and no such path is below the roots of this server: %s", clean(ref), clean(strings.Join(r.dirs, ", ")))
}

// id returns the name of a run's directory. ref is a unique part of the run's id, or "last".
func (r *roots) id(ref string) (string, error) {
	if ref == "last" {
		run, err := runs.Open(r.runs, ref)
		if err != nil {
			return "", err
		}
		return run.ID(), nil
	}
	dir, err := runs.Find(r.runs, ref)
	return filepath.Base(dir), err
}

// companions are the files that are read with a trace in the same directory.
var companions = []string{trace.ModelFile, trace.ServerArgsFile, trace.ContextsFile, trace.ReferenceFile, trace.GPUsFile}

// below checks that a path, everything below it, and the companions of a file stay inside dir when links are followed.
func below(dir, rel string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := inside(root, rel); err != nil {
		return "", err
	}
	st, err := root.Stat(rel)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		for _, name := range companions {
			if err := inside(root, filepath.Join(filepath.Dir(rel), name)); err != nil {
				return "", err
			}
		}
	}
	count := 0
	err = fs.WalkDir(root.FS(), filepath.ToSlash(filepath.Clean(rel)), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if count++; count > mostFiles {
			return fmt.Errorf("%s: more than %d files: give the directory of one capture", clean(rel), mostFiles)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return inside(root, filepath.FromSlash(path))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, rel), nil
}

// inside returns an error if a path is a link that leads out of the root. A path that does not exist is inside.
func inside(root *os.Root, path string) error {
	if _, err := root.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: a link leads out of the root, or it cannot be read", clean(path))
	}
	return nil
}

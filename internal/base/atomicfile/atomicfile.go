// Package atomicfile writes files that are either complete or absent. It writes a temporary file in the same directory
// and then renames that file.
package atomicfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// File creates a file, lets fill write it and then renames it to path. If fill fails, the new file is removed, and an
// existing file at path stays unchanged. Symbolic links are followed. If path exists and is not a regular file (a
// device, a pipe), File returns an error, because renaming would replace it. fill may seek in its file or reopen the
// file by its name. Errors name path, not the temporary file.
func File(path string, fill func(*os.File) error) (err error) {
	given := path
	defer func() { err = named(given, err) }()
	path, mode, err := place(path)
	if err != nil {
		return err
	}
	f, err := create(path, mode)
	if err != nil {
		return err
	}
	err = fill(f)
	defer keep(f)() // hold the lock until the rename
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return end(f.Name(), func() error {
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			os.Remove(f.Name())
		}
		return err
	})
}

// place returns the real path of a file to write, and its permissions.
func place(path string) (string, os.FileMode, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return path, 0o666, nil
	case st.IsDir():
		return "", 0, fmt.Errorf("%s is a directory; give a file", path)
	case !st.Mode().IsRegular():
		return "", 0, fmt.Errorf("%s is not a regular file and cannot be replaced", path)
	}
	return path, st.Mode().Perm(), nil
}

// create creates a temporary file beside path. Unlike os.CreateTemp, it applies the umask to mode.
func create(path string, mode os.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x.tmp", filepath.Base(path), rand.Uint32()))
		var f *os.File
		err := begin(func() (_ string, err error) {
			if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err == nil {
				lock(f) // marks the file as being written, see Salvage
			}
			return name, err
		}, os.Remove)
		if os.IsExist(err) && try < 100 {
			continue
		}
		return f, err
	}
}

// Write is File for sequential writers.
func Write(path string, fill func(io.Writer) error) error {
	return File(path, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 64<<10)
		if err := fill(w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// JSON writes v as indented JSON.
func JSON(path string, v any) error {
	return Write(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

// Counter counts the bytes written to W.
type Counter struct {
	W    io.Writer
	N    int64 // bytes
	Most int64 // maximum of N; 0: no limit
}

func (c *Counter) Write(p []byte) (int, error) {
	if c.Most > 0 && c.N+int64(len(p)) > c.Most {
		return 0, fmt.Errorf("the output would exceed %d bytes", c.Most)
	}
	n, err := c.W.Write(p)
	c.N += int64(n)
	return n, err
}

// named replaces the name of the temporary file in a write error by path.
func named(path string, err error) error {
	var pathErr *fs.PathError
	if !errors.As(err, &pathErr) || !hidden(pathErr.Path, path) {
		return err
	}
	return &fs.PathError{Op: "write", Path: path, Err: pathErr.Err}
}

// hidden reports whether name is a temporary file that create made for path or for its link target.
func hidden(name, path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path && hidden(name, real) {
		return true
	}
	return strings.HasPrefix(filepath.Base(name), "."+filepath.Base(path)+".")
}

// Named adds a hint to a permission error for out, the output file that the user may choose.
func Named(out string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) && pathErr.Path == out && errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; choose another output with -o", err)
	}
	return err
}

// Scratch returns an unnamed temporary file on the same disk as path, for data needed until path is written. If a use
// of the temporary file within [File] fails, the error names path.
func Scratch(path string) (*os.File, error) {
	f, err := create(path, 0o600)
	if err == nil {
		// Remove the file now, so that it is gone even after a crash. On systems that cannot remove an open file,
		// Discard removes it.
		_ = end(f.Name(), func() error { return os.Remove(f.Name()) })
	}
	return f, err
}

// Discard closes and removes a file made by Scratch.
func Discard(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

// TryFile creates the directory of path and tests that the file can be written there, as [TryDir] does.
func TryFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	path, _, err := place(path)
	if err != nil {
		return err
	}
	return TryDir(filepath.Dir(path))
}

// TryDir creates a directory and tests that files can be written there, so that a long run does not start if its result
// cannot be saved.
func TryDir(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".stepscope-*.tmp")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// Package collect copies the files of a profiling window from the servers. It has three sources: a directory that this
// host can read ([Dir]), a stepscope server over HTTP ([HTTP]), and a command such as "ssh host cat" ([Command]).
// [Whole] checks whether a trace is complete.
//
// Sizes are bytes.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// File is a file as listed by its source.
type File struct {
	Name string
	Size int64 // -1: unknown
	Done bool  // the source guarantees that the file is complete
}

// Source is a location from which a server's files can be read.
type Source interface {
	// List returns the current files. A directory that does not exist yet counts as empty.
	List(ctx context.Context) ([]File, error)
	// Bring copies the file called name to the path to, within a budget. It copies the file either completely or not at
	// all.
	Bring(ctx context.Context, name, to string, within *Budget) error
	// Here returns the path at which the file can be read without copying, or "".
	Here(name string) string
	// String describes the location.
	String() string
}

// plainName matches the names that are allowed for remote traces. They are restricted because they become part of paths
// and command lines.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+=@,:-]{0,250}$`)

// Dir is a directory of the local or a shared file system.
type Dir string

func (d Dir) String() string          { return string(d) }
func (d Dir) Here(name string) string { return filepath.Join(string(d), name) }

// List lists the regular files.
func (d Dir) List(context.Context) ([]File, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []File
	for _, e := range entries {
		info, err := os.Stat(d.Here(e.Name()))
		if err == nil && info.Mode().IsRegular() && plainName.MatchString(e.Name()) {
			out = append(out, File{Name: e.Name(), Size: info.Size()})
		}
	}
	return out, nil
}

// Bring makes a hard link or, where a link is impossible, a copy. If the destination is already the same file as the
// source, it does nothing.
func (d Dir) Bring(ctx context.Context, name, to string, within *Budget) error {
	from := d.Here(name)
	a, err := os.Stat(from)
	if err != nil {
		return err
	}
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return nil
	}
	if err := within.link(from, to, a.Size()); err == nil || errors.Is(err, ErrBudget) {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return within.Write(to, func(w io.Writer) error {
		n, err := io.Copy(w, stopping{ctx, f})
		if err == nil && n != a.Size() {
			err = fmt.Errorf("%s: copied only %d of %d bytes: it is still being written", from, n, a.Size())
		}
		return err
	})
}

// stopping is a reader that returns an error after ctx has ended.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}

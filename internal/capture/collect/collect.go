// Package collect brings the files of a profiling window home: from a directory
// that is visible here ([Dir]), from a stepscope server over HTTP ([HTTP]), or
// through a command such as "ssh host cat" ([Command]), and tells whether a trace
// is whole ([Whole]).
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

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// File is one file as its source lists it.
type File struct {
	Name string
	Size int64 // -1: not known
	Done bool  // the source vouches that it is written to its end
}

// Source is where the files of one server are.
type Source interface {
	// List gives the files there are now. A directory that does not exist yet is
	// an empty one.
	List(ctx context.Context) ([]File, error)
	// Bring copies a file to the path, whole or not at all.
	Bring(ctx context.Context, name, to string) error
	// Here is the path under which the file can be read without bringing it, or
	// nothing.
	Here(name string) string
	// String says where, for people.
	String() string
}

// plainName is what a trace may be called that came from elsewhere: it becomes
// part of paths and of command lines.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+=@,:-]{0,250}$`)

// Dir is a directory of this file system, or of one that is shared.
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

// Bring makes a hard link, or a copy where that cannot be. A file that is there
// already as the same stays.
func (d Dir) Bring(ctx context.Context, name, to string) error {
	from := d.Here(name)
	a, err := os.Stat(from)
	if err != nil {
		return err
	}
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return nil
	}
	if os.Link(from, to) == nil {
		return nil
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return atomicfile.Write(to, func(w io.Writer) error {
		n, err := io.Copy(w, stopping{ctx, f})
		if err == nil && n != a.Size() {
			err = fmt.Errorf("%s: %d bytes copied of %d: it is being written", from, n, a.Size())
		}
		return err
	})
}

// stopping is a reader that ends with ctx.
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

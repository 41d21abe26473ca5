package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Run is one run directory. A run made by [Create] is open for writing until Finish, by any number of goroutines. A run
// found by [Open] is read-only, except for derived files.
type Run struct {
	dir    string
	status Status // status of an opened run; Broken if the manifest says Running but the process has ended
	now    func() time.Time

	mu      sync.Mutex
	m       Manifest
	lock    io.Closer // held while this process may write to the run
	records *RecordWriter
}

// ID is the name of the run.
func (r *Run) ID() string { return filepath.Base(r.dir) }

// Dir is the run's directory.
func (r *Run) Dir() string { return r.dir }

// Path returns the path of a file in the run. name is slash-separated.
func (r *Run) Path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// Manifest returns a copy of the run's manifest.
func (r *Run) Manifest() Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.m
	m.Files, m.Numbers, m.Notes = slices.Clone(m.Files), slices.Clone(m.Numbers), slices.Clone(m.Notes)
	return m
}

// Status returns the run's status. For an opened run it is the status at the time of opening.
func (r *Run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status != "" {
		return r.status
	}
	return r.m.Status
}

// Files returns the files of the given kinds, or all files if no kind is given.
func (r *Run) Files(kinds ...Kind) (files []File) {
	for _, f := range r.Manifest().Files {
		if len(kinds) == 0 || slices.Contains(kinds, f.Kind) {
			files = append(files, f)
		}
	}
	return files
}

// Update changes the descriptive part of the manifest: about, numbers, notes. Files and status are changed by other
// methods. The manifest on disk is replaced atomically.
func (r *Run) Update(change func(*Manifest)) error {
	return r.update(true, func(m *Manifest) error { change(m); return nil })
}

// update changes the manifest under the run's lock. Only derived files can be added to a finished run; update takes the
// lock for such a run only briefly.
func (r *Run) update(evidence bool, change func(*Manifest) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		if evidence {
			return r.ended()
		}
		l, err := waitLock(r.Path(lockFile))
		if err != nil {
			return fmt.Errorf("add to run %s: %w", r.ID(), err)
		}
		defer l.Close()
		// Another process may have added a derived file since.
		m, err := readManifest(r.dir)
		if err != nil {
			return err
		}
		r.m = m
	}
	m := r.m
	m.Files = slices.Clone(m.Files)
	if err := change(&m); err != nil {
		return err
	}
	if err := m.write(r.dir); err != nil {
		return fmt.Errorf("run %s: %w", r.ID(), err)
	}
	r.m = m
	return nil
}

func (r *Run) ended() error {
	return fmt.Errorf("run %s has ended: only files under %s/ can be added", r.ID(), derivedDir)
}

// waitLock waits for a lock that other processes hold only for milliseconds.
func waitLock(name string) (l io.Closer, err error) {
	for range 200 {
		if l, err = lock(name); !errors.Is(err, ErrRunning) {
			return l, err
		}
		<-time.After(10 * time.Millisecond)
	}
	return l, err
}

// AddFile adds a file to the manifest. The content is taken from the file named by from: AddFile makes a hard link or,
// if a link is impossible, a copy. If from is "", the content is already at f.Path. Evidence is written only once: if a
// file of the same name exists, AddFile returns an error. A derived file replaces an earlier derived file of the same
// name.
func (r *Run) AddFile(f File, from string) error {
	if err := r.bring(&f, from); err != nil {
		return fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return r.update(!f.Derived(), func(m *Manifest) error {
		at := slices.IndexFunc(m.Files, func(o File) bool { return o.Path == f.Path })
		switch {
		case at < 0:
			m.Files = append(m.Files, f)
		case f.Derived():
			m.Files[at] = f
		default:
			return fmt.Errorf("run %s already has a file %s", r.ID(), f.Path)
		}
		return nil
	})
}

// bring links or copies the file named by from to the path of f.
func (r *Run) bring(f *File, from string) error {
	to, err := r.place(f)
	if err != nil {
		return err
	}
	if from != "" {
		// A hard link to a symbolic link would itself be a symbolic link.
		if from, err = filepath.EvalSymlinks(from); err != nil {
			return err
		}
		if err := mayBe(from); err != nil {
			return err
		}
		if f.Derived() {
			os.Remove(to)
		}
		if err := os.Link(from, to); err != nil {
			if err := r.fresh(f, to); err != nil {
				return err
			}
			if err := copyFile(from, to); err != nil {
				return err
			}
		}
	}
	if err := mayBe(to); err != nil {
		return err
	}
	st, err := os.Stat(to)
	if err == nil {
		f.Size = st.Size()
	}
	return err
}

// place checks the name of a file and creates its directory.
func (r *Run) place(f *File) (string, error) {
	if err := checkPath(f.Path); err != nil {
		return "", err
	}
	if f.Kind == "" {
		return "", fmt.Errorf("the file %s has no kind", f.Path)
	}
	r.mu.Lock()
	ours := r.lock != nil
	r.mu.Unlock()
	if !ours && !f.Derived() {
		return "", r.ended()
	}
	to := r.Path(f.Path)
	return to, os.MkdirAll(filepath.Dir(to), 0o777)
}

// fresh returns an error if f is evidence that already exists.
func (r *Run) fresh(f *File, to string) error {
	if _, err := os.Lstat(to); err == nil && !f.Derived() {
		return fmt.Errorf("%s: %w", f.Path, fs.ErrExist)
	}
	return nil
}

// mayBe returns an error if name is not a regular file.
func mayBe(name string) error {
	st, err := os.Lstat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	return err
}

func copyFile(from, to string) error {
	src, err := atomicfile.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return atomicfile.File(to, func(dst *os.File) error {
		_, err := io.Copy(dst, src)
		return err
	})
}

// Write creates a file and adds it to the manifest. The file is either complete or absent.
func (r *Run) Write(f File, fill func(io.Writer) error) error {
	to, err := r.place(&f)
	if err == nil {
		err = r.fresh(&f, to)
	}
	if err == nil {
		err = atomicfile.File(to, func(file *os.File) error {
			w := bufio.NewWriterSize(file, 64<<10)
			if err := fill(w); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
			return file.Sync()
		})
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return r.AddFile(f, "")
}

// WriteJSON is like Write for a file that contains one JSON value.
func (r *Run) WriteJSON(f File, v any) error {
	f.Format = "json"
	return r.Write(f, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	})
}

// ReadJSON decodes the only file of a kind into v.
func (r *Run) ReadJSON(kind Kind, v any) error {
	files := r.Files(kind)
	if len(files) == 0 {
		return fmt.Errorf("run %s has no %s: %w", r.ID(), kind, fs.ErrNotExist)
	}
	text, err := atomicfile.ReadFile(r.Path(files[0].Path))
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("run %s: %s: %w", r.ID(), files[0].Path, err)
	}
	return nil
}

// Finish ends the writing of a run and records the cause of a failure, if any. Only the first call has an effect, so a
// deferred call can handle unexpected exits. Finish removes a run that failed or was interrupted before it had any
// data. In that case only the command reports the cause.
func (r *Run) Finish(status Status, cause error) error {
	first, err := r.finish(status, cause)
	if first && err == nil && status != Complete && r.empty() {
		return Remove(r.dir, true)
	}
	return err
}

// empty reports whether the run has no files, or only a server's arguments.
func (r *Run) empty() bool {
	found, err := r.OnDisk()
	return err == nil && !slices.ContainsFunc(found, func(f Found) bool { return !f.Missing && f.Kind != KindServerArgs })
}

// finish does the same as Finish, except that it does not remove an empty run. first reports whether this is the first
// call.
func (r *Run) finish(status Status, cause error) (first bool, err error) {
	r.mu.Lock()
	records := r.records
	r.mu.Unlock()
	var cut error
	if records != nil {
		cut = records.Close() // has no effect if the caller has closed the records
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return false, nil
	}
	m := r.m
	m.Status, m.Ended = status, r.now().UTC()
	if cause != nil {
		m.Error = cause.Error()
	}
	m.Files = slices.Clone(m.Files)
	for i := range m.Files { // update the sizes, because logs have grown
		if st, err := os.Stat(r.Path(m.Files[i].Path)); err == nil {
			m.Files[i].Size = st.Size()
		}
	}
	if err = m.write(r.dir); err == nil {
		r.m = m
	} else {
		r.status = Broken
		err = fmt.Errorf("finish run %s: %w", r.ID(), err)
	}
	r.lock.Close() // an error is harmless, because no data was written to the lock file
	r.lock = nil
	if err == nil {
		err = cut
	}
	return true, err
}

package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Prefixes of hidden directories in the root: runs that are being created, and runs that are being removed.
const (
	newPrefix  = ".new-"
	gonePrefix = ".rm-"
)

// minSpace is the minimum free space for any run, in bytes.
const minSpace = 8 << 20

// Create begins a run in root, and creates root if necessary. It fails if root is not writable or has less than want
// bytes free. The user thus learns of the problem before the load rather than after it.
//
// The caller owns the run until Finish. If the process ends before Finish, everything written so far remains in the run
// directory, and the status of the run is Broken.
func Create(root string, about About, want int64) (*Run, error) {
	return create(root, about, want, time.Now)
}

func create(root string, about About, want int64, now func() time.Time) (*Run, error) {
	if !kindPattern.MatchString(about.Kind) {
		return nil, fmt.Errorf("a run's kind must be lower-case letters, not %q", about.Kind)
	}
	r, err := begin(root, about, want, now)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSPC):
		return nil, fmt.Errorf("begin a run: %w; choose another directory with --run-dir", err)
	case err != nil:
		return nil, fmt.Errorf("begin a run: %w", err)
	}
	return r, nil
}

func begin(root string, about About, want int64, now func() time.Time) (*Run, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	// Only the user may read the directory, because prompts and replies are private. To share runs, create the
	// directory beforehand with other permissions.
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	want = max(want, minSpace)
	if free, ok := FreeSpace(root); ok && free < want {
		return nil, fmt.Errorf("%s: %w: %d MB needed, %d MB free", root, syscall.ENOSPC, want>>20, free>>20)
	}
	sweep(root, now())

	about.Args, about.URL = redact(about.Args), redactURL(about.URL)
	about.Tags, about.Versions = slices.Clone(about.Tags), maps.Clone(about.Versions)
	host, _ := os.Hostname()
	r := &Run{m: Manifest{
		Format: 1, About: about, Status: Running, PID: os.Getpid(), Files: []File{},
		Machine: Machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0)},
	}, now: now}

	// A run is created under a hidden name, with its lock and manifest, and is then renamed to its final name in one
	// step. The rename fails if the final name is taken, because the directory of an existing run is not empty.
	for try := 0; ; try++ {
		r.m.Created = now().UTC()
		r.m.ID = newID(r.m.Created, about.Kind)
		r.dir = filepath.Join(root, newPrefix+r.m.ID)
		if err = os.Mkdir(r.dir, 0o777); err == nil {
			err = r.appear(filepath.Join(root, r.m.ID))
		}
		taken := errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY)
		if err == nil || !taken || try == 100 {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// appear fills the new directory and renames it to the name of the run.
func (r *Run) appear(dir string) (err error) {
	defer func() {
		if err != nil {
			if r.lock != nil {
				r.lock.Close()
				r.lock = nil
			}
			os.RemoveAll(r.dir)
		}
	}()
	if r.lock, err = lock(filepath.Join(r.dir, lockFile)); err != nil {
		return err
	}
	if err = r.m.write(r.dir); err != nil {
		return err
	}
	if err = os.Rename(r.dir, dir); err == nil {
		r.dir = dir
	}
	return err
}

// sweep removes the hidden directories left by processes that died while creating or removing a run. If a removal
// fails, the next call tries again.
func sweep(root string, now time.Time) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), gonePrefix):
			os.RemoveAll(dir)
		case strings.HasPrefix(e.Name(), newPrefix):
			// Creating a run takes milliseconds. The limit is much longer because the clocks of file servers may be
			// wrong.
			if st, err := e.Info(); err == nil && now.Sub(st.ModTime()) > 24*time.Hour && !held(filepath.Join(dir, lockFile)) {
				os.RemoveAll(dir)
			}
		}
	}
}

package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Open opens the run that ref identifies. The argument ref is the run's id, a unique prefix or suffix of the id, the
// path of the run's directory, or "last" for the newest run.
func Open(root, ref string) (*Run, error) {
	dir, err := find(root, ref)
	if err != nil {
		return nil, err
	}
	return openDir(dir)
}

func find(root, ref string) (string, error) {
	if ref == "last" {
		entries, err := List(root)
		if err != nil {
			return "", err
		}
		if len(entries) == 0 {
			return "", fmt.Errorf("%w: there are none yet in %s", ErrNotFound, root)
		}
		return filepath.Join(root, entries[0].ID), nil
	}
	if !strings.ContainsAny(ref, `/\`) && ref != "." && ref != ".." {
		dir, err := Find(root, ref)
		if !errors.Is(err, ErrNotFound) {
			return dir, err
		}
		if _, statErr := os.Stat(filepath.Join(ref, manifestFile)); statErr != nil {
			return "", err
		}
	}
	switch _, err := os.Stat(filepath.Join(ref, manifestFile)); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(ref); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return "", fmt.Errorf("%w: %s has no %s", ErrNotFound, ref, manifestFile)
	case err != nil:
		return "", err
	}
	return filepath.Abs(ref)
}

// Find returns the directory of the run in root whose id is ref, or of the only run whose id has the prefix or suffix
// ref. The run's manifest may be unreadable.
func Find(root, ref string) (string, error) {
	ids, err := scan(root)
	if err != nil {
		return "", err
	}
	var begin, end []string
	for _, id := range ids {
		switch {
		case id == ref:
			return filepath.Join(root, ref), nil
		case ref == "":
		case strings.HasPrefix(id, ref):
			begin = append(begin, id)
		case strings.HasSuffix(id, "-"+ref):
			end = append(end, id)
		}
	}
	found := begin
	if len(found) == 0 {
		found = end
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: %q in %s", ErrNotFound, ref, root)
	case 1:
		return filepath.Join(root, found[0]), nil
	}
	slices.Sort(found)
	more := ""
	if len(found) > 4 {
		found, more = found[len(found)-4:], ", …"
	}
	return "", fmt.Errorf("%q could be any of %s%s", ref, strings.Join(found, ", "), more)
}

func openDir(dir string) (*Run, error) {
	r := &Run{dir: dir}
	// Try twice, because the run may end after its manifest was read and before its lock is checked.
	for range 2 {
		var err error
		if r.m, err = readManifest(dir); err != nil {
			return nil, fmt.Errorf("run %s is damaged, its files are in %s: %w", filepath.Base(dir), dir, err)
		}
		r.status = r.m.Status
		if r.status != Running || held(filepath.Join(dir, lockFile)) {
			return r, nil
		}
	}
	r.status = Broken
	return r, nil
}

// Found is a file of a run, as found on disk.
type Found struct {
	File
	Missing  bool `json:"missing,omitempty"`  // listed in the manifest, but not present
	Unlisted bool `json:"unlisted,omitempty"` // present, but not listed in the manifest
}

// OnDisk lists the files in the manifest and any other files in the run's directory. The directory of a killed run may
// contain files that are not in the manifest.
func (r *Run) OnDisk() ([]Found, error) {
	there := map[string]int64{}
	err := filepath.WalkDir(r.dir+string(filepath.Separator), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if st, err := d.Info(); err == nil && rel != manifestFile && rel != lockFile {
			there[rel] = st.Size()
		}
		return nil
	})
	var found []Found
	for _, f := range r.Manifest().Files {
		size, ok := there[f.Path]
		if ok {
			f.Size = size
		}
		found = append(found, Found{File: f, Missing: !ok})
		delete(there, f.Path)
	}
	for p, size := range there {
		found = append(found, Found{File: File{Path: p, Size: size}, Unlisted: true})
	}
	sorts.By(found, func(a, b Found) int { return cmp.Compare(a.Path, b.Path) })
	return found, err
}

// Remove deletes the directory of a run. The run disappears from lists at once. If the run is still being written,
// Remove returns [ErrRunning] unless force is set.
func Remove(dir string, force bool) error {
	if _, err := os.Stat(filepath.Join(dir, manifestFile)); err != nil {
		if _, _, ok := parseID(filepath.Base(dir)); !ok {
			return fmt.Errorf("%w: %s", ErrNotFound, dir)
		}
	}
	// Test the lock instead of taking it. Taking the lock requires a writable directory, and if the directory is not
	// writable, the error of rename is clearer.
	if m, err := readManifest(dir); !force && held(filepath.Join(dir, lockFile)) && (err != nil || m.Status == Running) {
		return fmt.Errorf("run %s: %w", filepath.Base(dir), ErrRunning)
	}
	gone := filepath.Join(filepath.Dir(dir), fmt.Sprintf("%s%s-%08x", gonePrefix, filepath.Base(dir), rand.Uint32()))
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

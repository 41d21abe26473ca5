package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Entry is one run in a list.
type Entry struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Tool    string    `json:"tool"`
	Status  Status    `json:"status"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
	Tags    []string  `json:"tags"`
	Model   string    `json:"model"`
	Backend string    `json:"backend"`
	URL     string    `json:"url"`
	Numbers []Number  `json:"numbers"`
	Size    int64     `json:"size"`              // bytes of all files
	Problem string    `json:"problem,omitempty"` // why it failed, or cannot be read
}

// List tells the runs in a directory, newest first; none if there is no such
// directory. It reads again what changed since the index was made, and does
// without where the index cannot be used.
func List(root string) ([]Entry, error) {
	dirs, err := scan(root)
	if err != nil || len(dirs) == 0 {
		return nil, err
	}
	known, ix := openIndex(root)
	var list []Entry
	for _, d := range dirs {
		k, ok := known[d.id]
		delete(known, d.id)
		if !ok || k.stamp != d.stamp() {
			// The stamp is from before, so a change while it is read shows next time.
			k = row{stamp: d.stamp(), Entry: d.read()}
			if k.Status.final() {
				ix.put(k)
			} else if ok {
				ix.drop(d.id)
			}
		}
		list = append(list, k.Entry)
	}
	for id := range known {
		ix.drop(id)
	}
	ix.close()
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// runDir is a run as a look at its directory shows it.
type runDir struct {
	id, path string
	info     fs.FileInfo // of the directory
	manifest fs.FileInfo // nil: there is none that can be seen
}

// scan finds the runs in a directory: what has a manifest, and what is named as
// a run and should have one.
func scan(root string) ([]runDir, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	var dirs []runDir
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		d := runDir{id: e.Name(), path: filepath.Join(root, e.Name())}
		// Not e.Info: runs may be links to where there is more space.
		if d.info, err = os.Stat(d.path); err != nil || !d.info.IsDir() {
			continue
		}
		if st, err := os.Stat(filepath.Join(d.path, manifestFile)); err == nil {
			d.manifest = st
		} else if _, _, ok := parseID(d.id); !ok {
			continue
		}
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// stamp differs when the run was changed.
func (d *runDir) stamp() string {
	if d.manifest == nil {
		return ""
	}
	derived := int64(0)
	if st, err := os.Stat(filepath.Join(d.path, derivedDir)); err == nil {
		derived = st.ModTime().UnixNano()
	}
	return fmt.Sprintf("%d/%d/%d/%d", d.manifest.ModTime().UnixNano(), d.manifest.Size(), d.info.ModTime().UnixNano(), derived)
}

// read makes the entry of a run from its files.
func (d *runDir) read() Entry {
	r, err := openDir(d.path)
	if err != nil {
		at, kind, ok := parseID(d.id)
		if !ok {
			at = d.info.ModTime().UTC()
		}
		return Entry{ID: d.id, Kind: kind, Status: Broken, Created: at, Tags: []string{}, Numbers: []Number{},
			Size: (&Run{dir: d.path}).size(), Problem: err.Error()}
	}
	m := &r.m
	e := Entry{
		ID: d.id, Kind: m.Kind, Tool: m.Tool, Status: r.status, Created: m.Created.UTC(), Ended: m.Ended.UTC(), Tags: m.Tags,
		Model: m.Model, Backend: m.Backend, URL: m.URL, Numbers: m.Numbers, Size: r.size(), Problem: m.Error,
	}
	// Lists, never null.
	e.Tags, e.Numbers = append([]string{}, e.Tags...), append([]Number{}, e.Numbers...)
	if e.Status == Broken {
		e.Problem = "its process ended before the run did"
	}
	return e
}

// size is that of all files, as far as they can be seen.
func (r *Run) size() (sum int64) {
	files, _ := r.OnDisk()
	for _, f := range files {
		if !f.Missing {
			sum += f.Size
		}
	}
	if st, err := os.Stat(r.Path(manifestFile)); err == nil {
		sum += st.Size()
	}
	return sum
}

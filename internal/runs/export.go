package runs

import (
	"archive/tar"
	"fmt"
	"io"
	"os"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// Export writes the run as a tar file with one directory, named after the id: the manifest first, then the other files.
// Unpacked, it is a run. Export warns of evidence that is missing, and of files that are links out of the run or not
// regular. It returns [ErrRunning] for a run that is being written.
func (r *Run) Export(w io.Writer, say *progress.Console) error {
	if r.Status() == Running {
		return fmt.Errorf("run %s: %w: wait until it has ended", r.ID(), ErrRunning)
	}
	files, err := r.OnDisk()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	t := tar.NewWriter(w)
	if err := r.export(t, root, manifestFile); err != nil {
		return err
	}
	for _, f := range files {
		st, err := root.Stat(f.Path)
		switch {
		case f.Missing && f.Derived():
		case f.Missing:
			say.Lack("run %s lacks %s", r.ID(), f.Path)
		case err != nil || !st.Mode().IsRegular():
			say.Lack("run %s: %s is left out: it is no file of the run", r.ID(), f.Path)
		default:
			if err := r.export(t, root, f.Path); err != nil {
				return err
			}
		}
	}
	return t.Close()
}

// export adds one file to a tar file.
func (r *Run) export(t *tar.Writer, root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: r.ID() + "/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: st.Size(), ModTime: st.ModTime()}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(t, f, st.Size())
	return err
}

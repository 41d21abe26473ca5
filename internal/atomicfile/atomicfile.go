// Package atomicfile writes files that are whole or absent: beside their
// place under another name first, then renamed.
package atomicfile

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
)

// Write fills path by fill. If fill fails, nothing is left behind and a file
// that was there before stays as it was.
func Write(path string, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err = fill(w); err != nil {
		return err
	}
	if err = w.Flush(); err != nil {
		return err
	}
	// CreateTemp makes private files; results are for everyone the umask lets.
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

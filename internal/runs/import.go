package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Import adds a finished run from another directory to root under the same id, and returns the new directory. Files
// become hard links to the originals if the file system allows that. If root already has the run, Import does not
// change it.
func Import(root, dir string) (string, error) {
	if _, err := openDir(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	id := filepath.Base(dir)
	to, tmp := filepath.Join(root, id), filepath.Join(root, newPrefix+id)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	defer os.RemoveAll(tmp) // no-op after the rename
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		at := filepath.Join(tmp, name)
		switch {
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", path)
		case d.Name() == manifestFile || d.Name() == lockFile: // not linked, because these files are rewritten in place
		case os.Link(path, at) == nil:
			return nil
		}
		return copyFile(path, at)
	})
	if err != nil {
		return "", err
	}
	if err := os.Rename(tmp, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return to, nil
}

// Package private keeps small files that no other user can read or change: what they say, such as where to send a key,
// is trusted later.
package private

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Dir makes a directory of mode 0700, if there is none, and checks one that is there.
func Dir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return check(path, fs.ModeDir, 0o077, 0o700)
}

// Write writes v as JSON into a directory that Dir made.
func Write(path string, v any) error {
	if err := Dir(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.File(path, func(f *os.File) error {
		if err := f.Chmod(0o600); err != nil {
			return err
		}
		return json.NewEncoder(f).Encode(v)
	})
}

// Read reads what Write wrote. A file or directory that others own or may change is refused; the error of a file that is
// not there is fs.ErrNotExist.
func Read(path string, v any) error {
	if err := check(filepath.Dir(path), fs.ModeDir, 0o077, 0o700); err != nil {
		return err
	}
	if err := check(path, 0, 0o022, 0o600); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		if err = json.Unmarshal(text, v); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}

// check refuses a path that is not of the type, or that others own or have one of the bits of.
func check(path string, typ, bits, want fs.FileMode) error {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case st.Mode().Type() != typ:
		return fmt.Errorf("%s is not trusted: it is a link, or what else is neither a plain file nor a directory: remove it", path)
	}
	if uid, ok := owner(st); ok && uid != os.Geteuid() {
		return fmt.Errorf("%s is not trusted: it belongs to the user %d, you are %d: remove it, or set XDG_DATA_HOME to a directory of your own", path, uid, os.Geteuid())
	}
	if st.Mode()&bits != 0 {
		return fmt.Errorf("%s is not trusted: its mode is %04o, so others may change it: look at what it holds, then chmod %o it", path, st.Mode().Perm(), want)
	}
	return nil
}

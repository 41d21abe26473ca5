// Package private stores small files that no other user can read or change. It is for files whose contents are trusted
// when they are read again, such as the address to which a key is sent.
package private

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Dir creates a directory with mode 0700. If the directory exists, Dir checks that no other user can read or change it.
func Dir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return check(path, fs.ModeDir, 0o077, 0o700)
}

// Write writes v as JSON into a directory checked by Dir.
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

// Read reads a file written by Write. It refuses a file or directory that another user owns or may change. If the file
// does not exist, the error is fs.ErrNotExist.
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

// check refuses a path of another type than typ, a path that belongs to another user, and a path whose mode has one of
// bits set. The error suggests the mode want.
func check(path string, typ, bits, want fs.FileMode) error {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case st.Mode().Type() != typ:
		return fmt.Errorf("%s is not trusted: it is a link or a special file: remove it", path)
	}
	if uid, ok := owner(st); ok && uid != os.Geteuid() {
		return fmt.Errorf("%s is not trusted: it belongs to the user %d, you are %d: remove it, or set XDG_DATA_HOME to a directory of your own", path, uid, os.Geteuid())
	}
	if st.Mode()&bits != 0 {
		return fmt.Errorf("%s is not trusted: its mode is %04o, so others may change it: check its contents, then chmod %o it", path, st.Mode().Perm(), want)
	}
	return nil
}

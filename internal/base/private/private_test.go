//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead: files that others own or may change are refused in one line with advice, and not read.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(dir, file string) error
		want  string // "": it is read
	}{
		{"as it was written", func(dir, file string) error { return nil }, ""},
		{"a directory that all may write to", func(dir, file string) error { return os.Chmod(dir, 0o777) }, "is not trusted: its mode is 0777, so others may change it: check its contents, then chmod 700 it"},
		{"a directory that the group may read", func(dir, file string) error { return os.Chmod(dir, 0o750) }, "is not trusted: its mode is 0750"},
		{"a file that the group may write to", func(dir, file string) error { return os.Chmod(file, 0o660) }, "is not trusted: its mode is 0660, so others may change it: check its contents, then chmod 600 it"},
		{"a link", func(dir, file string) error {
			return errors.Join(os.Rename(file, file+".other"), os.Symlink(file+".other", file))
		}, "is not trusted: it is a link or "},
		{"a directory that is a link", func(dir, file string) error {
			return errors.Join(os.Rename(dir, dir+".other"), os.Symlink(dir+".other", dir))
		}, "is not trusted: it is a link or "},
		{"of another user", func(dir, file string) error { return os.Chown(file, 12345, -1) }, "is not trusted: it belongs to the user 12345, you are 0: remove it"},
		{"in a directory of another user", func(dir, file string) error { return os.Chown(dir, 12345, -1) }, "is not trusted: it belongs to the user 12345"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "below", "private")
			file := filepath.Join(dir, "a.json")
			if err := Write(file, "secret"); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.want, "belongs") && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			if err := c.spoil(dir, file); err != nil {
				t.Fatal(err)
			}
			var got string
			err := Read(file, &got)
			if c.want == "" && (err != nil || got != "secret") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || got != "") {
				t.Errorf("%q, %v; want %s", got, err, c.want)
			}
		})
	}
	if err := Read(filepath.Join(t.TempDir(), "none", "a.json"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestWrite: no other user can read the written file, whatever the umask, and nothing is written where others may
// change it.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	file := filepath.Join(dir, "a.json")
	if err := Write(file, 1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700 | fs.ModeDir, file: 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, 2); err == nil || !strings.Contains(err.Error(), "is not trusted") {
		t.Errorf("a directory that all may write to: %v", err)
	}
}

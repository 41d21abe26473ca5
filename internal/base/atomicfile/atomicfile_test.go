package atomicfile

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed half-way")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a failure leaves the old file and nothing else", failed, "before"},
		{"success replaces it", nil, "after"},
	} {
		err := Write(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, "after"); err != nil {
				return err
			}
			return c.err
		})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != c.want {
			t.Errorf("%s: the file holds %q, want %q", c.name, got, c.want)
		}
		if list, _ := os.ReadDir(dir); len(list) != 1 {
			t.Errorf("%s: %d files in the directory, want one", c.name, len(list))
		}
	}
}

func TestNoDirectory(t *testing.T) {
	if err := Write(filepath.Join(t.TempDir(), "none", "out"), func(io.Writer) error { return nil }); err == nil {
		t.Error("no error for a directory that does not exist")
	}
}

func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := Write(pipe, func(io.Writer) error { return nil }); err == nil {
		t.Error("a pipe was replaced by a file")
	}
	if st, err := os.Lstat(pipe); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is gone: %v %v", st, err)
	}
}

func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if err := Write(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(real); string(got) != "new" {
		t.Errorf("the link's target holds %q", got)
	}
	if st, _ := os.Lstat(link); st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

func TestTryFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for path, ok := range map[string]bool{
		file: true, filepath.Join(dir, "new"): true, filepath.Join(dir, "sub", "new"): true,
		dir: false, filepath.Join(dir, "link"): false, filepath.Join(file, "new"): false, "/dev/null": false,
	} {
		if err := TryFile(path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, _ := os.ReadFile(file); string(got) != "before" {
		t.Errorf("the file holds %q", got)
	}
	if list, _ := os.ReadDir(dir); len(list) != 3 {
		t.Errorf("%d files are left", len(list))
	}
}

// TestDir: a directory created for files is removed if none was written to it.
func TestDir(t *testing.T) {
	there, made, empty := t.TempDir(), filepath.Join(t.TempDir(), "a", "made"), filepath.Join(t.TempDir(), "empty")
	for path, stays := range map[string]bool{there: true, made: true, empty: false} {
		done, err := Dir(path)
		if err == nil && path == made {
			err = os.WriteFile(filepath.Join(path, "file"), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		done()
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestAbandon: nothing is left of unfinished files, nor of the directories created for them. It is for the end of a
// process, so it runs in one of its own.
func TestAbandon(t *testing.T) {
	if dir := os.Getenv("ABANDON_IN"); dir != "" {
		if _, err := Dir(filepath.Join(dir, "made")); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := create(filepath.Join(dir, "made", strings.Repeat("x", i+1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		Abandon()
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAbandon$")
	cmd.Env = append(os.Environ(), "ABANDON_IN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

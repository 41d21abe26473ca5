package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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

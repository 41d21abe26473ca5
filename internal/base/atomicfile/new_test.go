package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func says(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// TestNew: an existing file, or a link that leads elsewhere, stays unchanged.
func TestNew(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	if err := New(filepath.Join(dir, "a"), says("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := New(filepath.Join(dir, name), says("two")); err == nil || !strings.HasSuffix(err.Error(), "already exists and is not replaced") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a")); string(text) != "one" {
		t.Errorf("a is %q, %v", text, err)
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("the link was followed")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSalvage: abandoned hidden files get their names, with their content.
func TestSalvage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".x.trace.json.gz.0123abcd.tmp": "some", ".there.trace.json.gz.0123abcd.tmp": "other", "there.trace.json.gz": "first",
		".empty.trace.json.gz.0123abcd.tmp": "", ".notes.txt.0123abcd.tmp": "no trace", ".stepscope-1.tmp": "a trial",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writing, err := create(filepath.Join(dir, "now.trace.json.gz"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer Discard(writing)
	writing.WriteString("it goes on")
	traces := func(name string) bool { return strings.HasSuffix(name, ".trace.json.gz") }
	if got := Salvage(dir, traces); len(got) != 1 || got[0] != "x.trace.json.gz" {
		t.Errorf("saved %v", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "x.trace.json.gz")); string(text) != "some" {
		t.Errorf("%q, %v", text, err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "there.trace.json.gz")); string(text) != "first" {
		t.Errorf("a file was replaced by %q", text)
	}
	if got := Salvage(dir, traces); got != nil {
		t.Errorf("saved %v again", got)
	}
	if _, err := os.Stat(writing.Name()); err != nil {
		t.Errorf("the file being written is gone: %v", err)
	}
}

// TestSalvageBeside: Salvage takes nothing from a running writer.
func TestSalvageBeside(t *testing.T) {
	dir := t.TempDir()
	all := func(string) bool { return true }
	written := make(chan error)
	go func() {
		defer close(written)
		for i := range 400 {
			write := New
			if i%2 > 0 {
				write = Write
			}
			written <- write(filepath.Join(dir, strconv.Itoa(i)), says("text"))
		}
	}()
	for {
		select {
		case err, more := <-written:
			if !more {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		default:
			if saved := Salvage(dir, all); saved != nil {
				t.Fatalf("%v: saved while it was written", saved)
			}
		}
	}
}

package memory

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSupervise checks the status and the messages of supervised processes.
func TestSupervise(t *testing.T) {
	for _, c := range []struct {
		script string
		status int
		says   string
	}{
		{"exit 0", 0, ""},
		{"echo usual >/proc/self/fd/$STEPSCOPE_STDERR; exit 3", 3, "usual\n"},
		{"echo 'fatal error: runtime: cannot allocate memory' >&2; echo 'goroutine 1 [running]:' >&2; exit 2", 1, "stepscope: this needs more address space than 2000 MB: raise the limit (ulimit -v), or give less data\n"},
		{"echo 'runtime/cgo: pthread_create failed: Resource temporarily unavailable' >&2; kill -ABRT $$", 1, "stepscope: this needs more address space than 2000 MB: raise the limit (ulimit -v), or give less data\n"},
		{"echo 'panic: index out of range' >&2; exit 2", 2, "panic: index out of range\n"},
		{"kill -TERM $$", 143, ""},
		{"sleep 3 & exit 1", 1, ""}, // a process that the child has started has the pipe
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		was := os.Stderr
		os.Stderr = f
		status, err := supervise("/bin/sh", []string{"sh", "-c", c.script}, 2e9)
		os.Stderr = was
		f.Seek(0, io.SeekStart)
		text, _ := io.ReadAll(f)
		f.Close()
		if err != nil || status != c.status || strings.TrimPrefix(string(text), "Aborted\n") != c.says {
			t.Errorf("%s: status %d, %v: %q", c.script, status, err, text)
		}
	}
}

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk: a disk that is full is what is said, of the file that was to be written, and nothing is left on it.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=4k"); err != nil {
		t.Skip("a small disk takes root:", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, 0) })
	set := filepath.Join(captures, "graph_work")
	for name, args := range map[string][]string{
		"a.pftrace":    {"trace", "merge", set, "-o"},
		"a.json.gz":    {"trace", "merge", set, "-o"},
		"a.json":       {"trace", "merge", set, "-o"},
		"cut.json.gz":  {"trace", "cut", set, "--steps", "0-9", "--merge", "-o"},
		"cut":          {"trace", "cut", set, "--steps", "0-9", "-o"},
		"red.json.gz":  {"trace", "cut", set, "--redact", "--merge", "-o"},
		"a.csv":        {"trace", "export", set, "-o"},
		"a.csv.gz":     {"trace", "export", set, "-o"},
		"a.parquet":    {"trace", "export", set, "-o"},
		"a.db":         {"trace", "export", set, "-o"},
		"report.html":  {"analyze", set, "--html"},
		"some.summary": {"analyze", set, "--summary"},
	} {
		var stdout, stderr bytes.Buffer
		out := filepath.Join(disk, name)
		status := Main(append(args, out), nil, &stdout, &stderr)
		if name == "cut" {
			out += "/cut-1763750000.graph_work-TP-0.trace.json.gz"
		}
		said := strings.TrimSuffix(stderr.String(), "\n")
		if status != exitFailed || !strings.HasPrefix(said, "stepscope: write "+out+": ") || strings.Contains(said, "\n") ||
			!strings.HasSuffix(said, "no space left on device") {
			t.Errorf("%s: status %d, %s", name, status, said)
		}
		if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left, %v", name, left, err)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestViewExport: a page goes to a file or to stdout, and what it leaves out is said of both; what it cannot show is
// refused.
func TestViewExport(t *testing.T) {
	t.Parallel()
	skew, dir := filepath.Join("..", "..", "testdata", "traces", "compute_skew"), t.TempDir()
	path := filepath.Join(dir, "page.html")
	view := func(args ...string) (status int, out, errs string) {
		return run(t, t.Context(), append([]string{"view", skew, "--run-dir", dir, "--export-size", "2MB", "--export"}, args...)...)
	}
	status, out, said := view(path)
	page, err := os.ReadFile(path)
	if status != exitOK || out != "" || err != nil || !strings.Contains(said, "page written: "+path) || !strings.Contains(said, "left out: ") {
		t.Errorf("status %d, %v: %q, %s", status, err, out, said)
	}
	_, lacks, _ := strings.Cut(said, "left out: ")
	status, out, said = view("-")
	if status != exitOK || out != string(page) || !strings.Contains(said, "left out: "+lacks) || strings.Contains(said, "page written") {
		t.Errorf("to stdout: status %d, %d bytes of %d, %s", status, len(out), len(page), said)
	}
	for _, args := range [][]string{{"--url", "http://127.0.0.1:9"}, {"--log", path}} {
		status, out, said := view(append([]string{"-"}, args...)...)
		if status != exitUsage || out != "" || !strings.Contains(said, ": the page has the views of one capture, leave one of them out") {
			t.Errorf("%q: status %d, %d bytes, %s", args, status, len(out), said)
		}
	}
}

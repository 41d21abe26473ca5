package kineto

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// TestPerfettoImports opens a written file in Perfetto's own importer: it shows the spans of the original and every
// arrow, and complains only about slices that already overlap in the recording.
func TestPerfettoImports(t *testing.T) {
	ui := os.Getenv("PFTRACE_UI")
	if ui == "" {
		t.Skip("PFTRACE_UI is not set: the directory of a Perfetto UI with trace_processor (see internal/tracefile/pftrace)")
	}
	set := find(t, "../../../testdata/traces/graph_work")
	tr := readAll(t, set)[0]
	path := filepath.Join(t.TempDir(), "a.trace.json.gz")
	if err := WriteFile(path, tr); err != nil {
		t.Fatal(err)
	}
	query := func(path, sql string) []string {
		t.Helper()
		cmd := exec.Command("node", "../pftrace/testdata/trace_processor.js", ui, path, sql)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		var rows []string
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				rows = append(rows, line)
			}
		}
		return rows[min(1, len(rows)):] // without the header
	}
	for _, row := range query(path, "select name, value from stats where severity != 'info' and value > 0") {
		if !strings.HasPrefix(row, "slice_drop_overlapping_complete_event|") {
			t.Errorf("the importer complains: %s", row)
		}
	}
	const shown = "select category, name, count(*) as n, sum(dur) as ns from slice where category is not null group by 1, 2 order by 1, 2"
	if got, want := query(path, shown), query(set.Files[0].Path, shown); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("%d kinds of slices, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	if got, want := query(path, "select count(*) as n from flow"), strconv.Itoa(arrows(tr)); len(got) != 1 || got[0] != want {
		t.Errorf("%v arrows, want %s", got, want)
	}
}

// arrows counts the GPU work whose launch is in the trace.
func arrows(t *trace.Trace) (n int) {
	calls := map[int64]bool{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.Launch() {
			calls[s.Corr] = true
		}
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.OnGPU() && s.Corr != 0 && calls[s.Corr] {
			n++
		}
	}
	return n
}

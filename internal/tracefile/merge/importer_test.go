package merge

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// TestPerfettoImports opens a merged file in Perfetto's own importer: it drops only slices that already overlap in the
// input, and every arrow stays within its rank.
func TestPerfettoImports(t *testing.T) {
	ui := os.Getenv("PFTRACE_UI")
	if ui == "" {
		t.Skip("PFTRACE_UI is not set: the directory of a Perfetto UI with trace_processor (see internal/tracefile/pftrace)")
	}
	sets, err := set.Find([]string{filepath.Join("..", "..", "..", "testdata", "traces", "graphs")})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "merged.trace.json.gz")
	if _, err := File(context.Background(), sets[0], out, Options{ProfileID: "x"}); err != nil {
		t.Fatal(err)
	}
	query := func(sql string) []string {
		t.Helper()
		sql = strings.Join(strings.Fields(sql), " ") // the script echoes it as one comment line
		cmd := exec.Command("node", filepath.Join("..", "pftrace", "testdata", "trace_processor.js"), ui, out, sql)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		var rows []string
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				rows = append(rows, line)
			}
		}
		return rows[min(1, len(rows)):] // without the header
	}
	for _, row := range query("select name, value from stats where severity != 'info' and value > 0") {
		if !strings.HasPrefix(row, "slice_drop_overlapping_complete_event|") {
			t.Errorf("the importer complains: %s", row)
		}
	}
	if n := query("select count(*) from slice"); len(n) != 1 || len(n[0]) < 4 {
		t.Errorf("slices imported: %v, want thousands", n)
	}
	arrows := query(`select p1.name, p2.name, count(*) from flow f
		join slice s1 on f.slice_out = s1.id join slice s2 on f.slice_in = s2.id
		join thread_track t1 on s1.track_id = t1.id join thread h1 on t1.utid = h1.utid join process p1 on h1.upid = p1.upid
		join thread_track t2 on s2.track_id = t2.id join thread h2 on t2.utid = h2.utid join process p2 on h2.upid = p2.upid
		group by 1, 2`)
	ranks := map[string]bool{}
	for _, row := range arrows {
		f := strings.Split(row, "|")
		from, _, _ := strings.Cut(f[0], "]")
		to, _, _ := strings.Cut(f[1], "]")
		if from != to {
			t.Errorf("arrows from %s to %s: %s", f[0], f[1], f[2])
		}
		ranks[from] = true
	}
	if len(ranks) != 4 {
		t.Errorf("arrows of %d ranks, want 4: %v", len(ranks), arrows)
	}
}

package torch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// TestKeepWithoutLoads checks that the run is kept although the queue samples could not be written.
func TestKeepWithoutLoads(t *testing.T) {
	for _, written := range []bool{true, false} {
		dir := t.TempDir()
		r, err := runs.Create(t.TempDir(), runs.About{Kind: "profile", Tool: "profile"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		files := []string{"1-TP-0.trace.json.gz"}
		if written {
			files, want = append(files, trace.LoadsFile), 2
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("[]"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		err = (&Result{Servers: []ServerResult{{
			Role: api.Decode, Dir: dir, Traces: []string{filepath.Join(dir, files[0])}, Loads: []trace.Load{{At: 1}},
		}}}).Keep(r, "")
		if got := len(r.Files(runs.KindTrace)) + len(r.Files(runs.KindMetrics)); err != nil || got != want {
			t.Errorf("written %v: %v, %d files", written, err, got)
		}
		if err := r.Finish(runs.Complete, nil); err != nil {
			t.Error(err)
		}
	}
}

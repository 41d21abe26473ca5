package experiment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/capture"
	"github.com/stepscope/stepscope/internal/store"
	"github.com/stepscope/stepscope/trace"
)

// TestKeepWithoutLoads: looks at queues that could not be written do not cost the run.
func TestKeepWithoutLoads(t *testing.T) {
	for _, written := range []bool{true, false} {
		dir := t.TempDir()
		r, err := store.Create(t.TempDir(), store.About{Kind: "profile", Tool: "profile"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		files := []string{"1-TP-0.trace.json.gz"}
		if written {
			files, want = append(files, capture.LoadsFile), 2
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("[]"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		err = KeepCapture(r, &capture.Result{Servers: []capture.ServerResult{{
			Role: capture.Decode, Dir: dir, Traces: []string{filepath.Join(dir, files[0])}, Loads: []trace.Load{{At: 1}},
		}}}, "")
		if got := len(r.Files(store.KindTrace)) + len(r.Files(store.KindMetrics)); err != nil || got != want {
			t.Errorf("written %v: %v, %d files", written, err, got)
		}
		if err := r.Finish(store.Complete, nil); err != nil {
			t.Error(err)
		}
	}
}

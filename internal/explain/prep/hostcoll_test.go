package prep_test

import (
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestHostCollectivesOfCutFile: where a file ends early, its last step is dropped, and host collectives are assigned to
// steps anew.
func TestHostCollectivesOfCutFile(t *testing.T) {
	ts := explaintest.ReadDir(t, filepath.Join("..", "worth", "testdata", "gloo_late_host"))
	for _, tr := range ts {
		tr.Source.Complete = false
	}
	for _, r := range prep.Traces(ts, nil) {
		if err := r.Check(); err != nil || len(r.HostColls) == 0 {
			t.Errorf("cut file: got %d host collectives and error %v, want some and none", len(r.HostColls), err)
		}
	}
}

package runs

import (
	"errors"
	"testing"

	"github.com/stepscope/stepscope/bench"
)

// TestFinishEmpty: a run that did not complete and has no content is removed.
func TestFinishEmpty(t *testing.T) {
	args := func(r *Run) error {
		return r.WriteJSON(File{Path: "server_args.json", Kind: KindServerArgs, Format: "json"}, map[string]int{"tp_size": 1})
	}
	batch := func(r *Run) error { return r.AddBatch(&bench.Batch{BatchSize: 1}) }
	for _, c := range []struct {
		name   string
		fill   func(*Run) error
		status Status
		kept   bool
	}{
		{"failed with nothing", func(*Run) error { return nil }, Failed, false},
		{"interrupted with nothing", func(*Run) error { return nil }, Interrupted, false},
		{"complete with nothing", func(*Run) error { return nil }, Complete, true},
		{"failed before anything was measured", args, Failed, false},
		{"failed after a batch", batch, Failed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			r := mustCreate(t, root)
			check(t, c.fill(r))
			check(t, r.Finish(c.status, errors.New("why")))
			check(t, r.Finish(Failed, nil)) // deferred
			if list, err := List(root); err != nil || len(list) == 1 != c.kept {
				t.Errorf("runs %+v, %v", list, err)
			}
		})
	}
}

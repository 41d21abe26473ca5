package pftrace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTraceProcessor queries the golden trace with Perfetto's own trace_processor. It needs node, and the Perfetto UI
// in the folder named by PFTRACE_UI; testdata/trace_processor.js says where to get it.
func TestTraceProcessor(t *testing.T) {
	ui := os.Getenv("PFTRACE_UI")
	if ui == "" {
		t.Skip("PFTRACE_UI is not set")
	}
	path := filepath.Join(t.TempDir(), "small.pftrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := NewWriter(f)
	small(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/trace_processor.js", ui, path,
		// Nothing lost or out of place.
		"select name, value from stats where value != 0 and severity != 'info'",
		// Track order, lanes merged, as the UI draws them.
		"include perfetto module viz.summary.track_event",
		"select name, parent_id, is_counter, track_ids, order_id, unit, description from _track_event_tracks_ordered_groups",
		"select s.id, track_id, ts, dur, s.name, category, depth, s.parent_id from slice s order by track_id, s.id",
		"select slice_out, slice_in, trace_id from flow",
		"select distinct key, display_value from slice join args using (arg_set_id) order by key",
		"select name, ts, value from counter join counter_track t on t.id = track_id order by t.id, ts",
		"select clock_name, clock_value from clock_snapshot")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%.500s", err, &stderr)
	}
	golden(t, "small.sql.txt", string(out))
}

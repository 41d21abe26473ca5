package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/runs"
)

// TestTraceVerbsTakeRuns: a run stands for its traces wherever traces are read.
func TestTraceVerbsTakeRuns(t *testing.T) {
	homes(t)
	if status, _, errs := run(t, t.Context(), "trace", "check", "last"); status != exitFailed || !strings.Contains(errs, "stepscope runs list") {
		t.Errorf("without runs: status %d: %s", status, errs)
	}
	root, err := runs.DefaultRoot()
	if err != nil {
		t.Fatal(err)
	}
	traced, err := runs.Create(root, runs.About{Kind: "profile", Tool: "profile"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	two := filepath.Join(t.TempDir(), "two")
	for rank := range 2 {
		name := fmt.Sprintf("1763750000.graph_work-TP-%d.trace.json.gz", rank)
		from := filepath.Join(captures, "graph_work", name)
		if err := traced.AddFile(runs.File{Path: "traces/" + name, Kind: runs.KindTrace}, from); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(two, []string{"prefill-0", "decode-0"}[rank])
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(captures, "graph_work"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := traced.Finish(runs.Complete, nil); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "merged.trace.json.gz")
	for args, want := range map[string]string{
		"trace check last":                        "1 of 2",
		"trace check " + traced.ID():              "1 of 2",
		"trace merge last -o " + out:              "merged 2 of 2 files",
		"trace merge " + traced.Dir() + " -o -":   "",
		"whatif last --set collective=0.5":        "would take",
		"trace export last --format csv -o -":     "rank,tp,dp",
		"trace cut last --steps 3-4 --merge -o -": "",
	} {
		if status, stdout, errs := run(t, t.Context(), strings.Fields(args)...); status != exitOK || !strings.Contains(stdout+errs, want) {
			t.Errorf("%s: status %d\n%s%.300s", args, status, errs, stdout)
		}
	}
	if status, _, errs := run(t, t.Context(), "trace", "merge", two); status != exitUsage || !strings.Contains(errs, "has 2 servers: give the traces of one, such as "+filepath.Join(two, "decode-0")) && !strings.Contains(errs, filepath.Join(two, "prefill-0")) {
		t.Errorf("of two servers: status %d: %s", status, errs)
	}
}

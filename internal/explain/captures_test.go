package explain_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// truth is the file that scripts/capture writes beside a capture: the injected fault and the expected findings.
type truth struct {
	Graph  bool `json:"graph"`
	Expect []struct {
		Rank  *int   `json:"rank"` // nil: all ranks of a group alike
		First int    `json:"first_step"`
		Last  *int   `json:"last_step"` // nil: to the end
		Cause string `json:"cause"`
	} `json:"expect"`
}

// TestCaptures checks captures with known truth, one directory each, against the injected faults. The environment names
// the parent directory: scripts/capture makes the captures on GPUs, and they are too large for the repository.
func TestCaptures(t *testing.T) {
	root := os.Getenv("STEPSCOPE_CAPTURES")
	if root == "" {
		t.Skip("STEPSCOPE_CAPTURES is not set: a directory of captures made by scripts/capture")
	}
	paths, _ := filepath.Glob(filepath.Join(root, "*", "truth.json"))
	if len(paths) == 0 {
		t.Fatalf("%s holds no captures", root)
	}
	for _, p := range paths {
		dir := filepath.Dir(p)
		t.Run(filepath.Base(dir), func(t *testing.T) { checkTruth(t, dir) })
	}
}

func checkTruth(t *testing.T, dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want truth
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
	used := map[int]bool{}
	for _, e := range want.Expect {
		at := slices.IndexFunc(r.Findings, func(f result.Finding) bool {
			if e.Rank == nil {
				return f.Kind == result.SlowLink && f.Cause == e.Cause && f.FirstStep == e.First
			}
			ok := f.Kind == result.Straggler && f.Cause == e.Cause && slices.Equal(f.Ranks, []int{*e.Rank}) && f.Passing == (e.Last != nil) &&
				(e.Last == nil || f.LastStep == *e.Last)
			if e.Cause == result.CauseHost && !want.Graph {
				// Hosts that launch op by op are late by nature, too: the finding may begin earlier.
				return ok && f.FirstStep <= e.First
			}
			return ok && f.FirstStep == e.First
		})
		if at < 0 {
			t.Errorf("expected finding %+v is missing%s", e, explaintest.Describe(r))
			continue
		}
		used[at] = true
	}
	// Findings without an injected fault may only be natural lateness of hosts.
	for i, f := range r.Findings {
		if used[i] {
			continue
		}
		switch {
		case f.Kind == result.Straggler && f.Cause == result.CauseHost:
			t.Logf("natural lateness: %s: %s", explaintest.Brief(f), report.Words(f.Title))
		case f.Kind == result.Straggler || f.Kind == result.SlowLink:
			t.Errorf("got finding %s, but no such fault was injected%s", explaintest.Brief(f), explaintest.Describe(r))
		}
	}
	if strings.HasPrefix(filepath.Base(dir), ".") {
		return
	}
	checkCosts(t, r, readSlow(t, dir))
}

package judge_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestEverySixthStep: a host that stalls for 8 ms before every sixth synchronisation is one finding, without findings
// of slow steps.
func TestEverySixthStep(t *testing.T) {
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join("testdata", "pause_before_sync")))
	f := r.Findings[0]
	title := report.Words(f.Title)
	if f.Kind != result.Straggler || !slices.Equal(f.Names, []string{"TP01"}) || f.Cause != result.CauseHost || f.Severity == "low" ||
		!strings.Contains(title, "every 6 steps, 3 times in this window (5, 11, 17)") {
		t.Errorf("the first finding is %s: %s, want TP01 late by its host every 6 steps%s", f.Severity, title, explaintest.Describe(r))
	}
	for _, f := range r.Findings[1:] {
		if f.Severity != "low" && f.Severity != "info" && (f.Kind == result.Straggler || f.Kind == result.SlowStep) {
			t.Errorf("got further finding %q of severity %s, want low at most", report.Words(f.Title), f.Severity)
		}
	}
}

package judge_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestOneOfTwo analyses one rank whose peer's file is lost: waiting cannot be separated from transfer, and no statement
// covers all ranks.
func TestOneOfTwo(t *testing.T) {
	for _, set := range []string{"graph_work", "g_mixed", "g_device_r1", "sglang_shared", "sglang_stops"} {
		for i, tr := range explaintest.RealSet(t, set) {
			t.Run(set+" "+tr.Source.Rank.String(), func(t *testing.T) {
				ts := explaintest.RealSet(t, set)[i : i+1]
				r, err := explain.Analyze(ts, explain.Options{Missing: []string{explaintest.RealSet(t, set)[1-i].Source.Rank.String()}})
				if err != nil {
					t.Fatal(err)
				}
				explaintest.CheckIdentities(t, r)
				explaintest.CheckSentences(t, r)
				for _, f := range r.Findings {
					if title := report.Words(f.Title); blamesTransfers(f) || strings.Contains(title, "all ranks") {
						t.Errorf("one rank alone: got finding %q, want none about transfers or all ranks", title)
					}
				}
			})
		}
	}
}

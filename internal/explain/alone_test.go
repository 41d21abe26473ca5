package explain

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
)

// TestOneOfTwo analyses one rank whose peer's file is lost: waiting cannot be separated from transfer, and no statement
// covers all ranks.
func TestOneOfTwo(t *testing.T) {
	for _, set := range []string{"graph_work", "g_mixed", "g_device_r1", "sglang_shared", "sglang_stops"} {
		for i, tr := range realSet(t, set) {
			t.Run(set+" "+tr.Source.Rank.String(), func(t *testing.T) {
				ts := realSet(t, set)[i : i+1]
				r, err := Analyze(ts, Options{Missing: []string{realSet(t, set)[1-i].Source.Rank.String()}})
				if err != nil {
					t.Fatal(err)
				}
				checkIdentities(t, r)
				checkSentences(t, r)
				for _, f := range r.Findings {
					if title := report.Words(f.Title); blamesTransfers(f) || strings.Contains(title, "all ranks") {
						t.Errorf("one rank alone: got finding %q, want none about transfers or all ranks", title)
					}
				}
			})
		}
	}
}

package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestShorterWindows makes the window of one rank begin later or end earlier than its peers': steps that only they
// recorded say nothing about transfers, and a rank that is late in the common steps stays late to their end.
func TestShorterWindows(t *testing.T) {
	for _, set := range []string{"graphs", "balanced", "g_mixed", "sglang_stops"} {
		base := explaintest.RealSet(t, set)
		steps := len(explaintest.NewInjector(t, base).Ranks[0].Steps)
		for _, keep := range [][2]int{{0, steps - 2}, {0, steps - 3}, {0, steps / 2}, {2, steps - 1}, {steps / 2, steps - 1}} {
			for rank := range base[:2] {
				t.Run(fmt.Sprintf("%s rank %d steps %d-%d of %d", set, rank, keep[0], keep[1], steps), func(t *testing.T) {
					ts := retime.Copy(base)
					retime.Keep(ts[rank], keep[0], keep[1])
					r := explaintest.Analyzed(t, ts)
					for _, f := range r.Findings {
						if blamesTransfers(f) && (f.FirstStep < keep[0] || f.LastStep > keep[1]) {
							t.Errorf("got waits for a rank outside its window reported as transfers: %s", report.Words(f.Title))
						}
					}
					for _, f := range explaintest.Said(r, result.Straggler) {
						if f.FirstStep < keep[0] || f.LastStep > keep[1] {
							t.Errorf("got %s, want late steps only where all ranks recorded", explaintest.Brief(f))
						}
						if set == "g_mixed" && f.Passing {
							t.Errorf("got passing %s, want lateness to the end of the common steps", explaintest.Brief(f))
						}
					}
					if set == "g_mixed" && keep[1] > 12 && !slices.Equal(explaintest.LateRanks(r), []int{0, 1}) {
						t.Errorf("want both ranks late%s", explaintest.Describe(r))
					}
				})
			}
		}
	}
}

// blamesTransfers reports whether a finding blames slower transfers.
func blamesTransfers(f result.Finding) bool {
	return f.Kind == result.SlowLink || strings.Contains(f.Title.String(), "part_transfer")
}

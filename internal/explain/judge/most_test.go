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

// TestMajority makes most ranks slow: the finding names them, and no other finding claims that all ranks are slow, or
// none.
func TestMajority(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(from int) func(m *retime.Model)
		late   []int
		cause  string
		cost   int64 // least wait of the rank in time
	}{
		{"three devices", func(from int) func(*retime.Model) { return explaintest.Slowed(1.3, from, 1, 2, 3) }, []int{1, 2, 3}, result.CauseDevice, 100 * us},
		{"three devices, much slower", func(from int) func(*retime.Model) { return explaintest.Slowed(1.6, from, 1, 2, 3) }, []int{1, 2, 3}, result.CauseDevice, 200 * us},
		{"two devices", func(from int) func(*retime.Model) { return explaintest.Slowed(1.3, from, 1, 2) }, []int{1, 2}, result.CauseDevice, 100 * us},
		{"three hosts", func(from int) func(*retime.Model) {
			return func(m *retime.Model) {
				for _, rank := range []int{0, 1, 3} {
					explaintest.Paused(rank, from, 400*us)(m)
				}
			}
		}, []int{0, 1, 3}, result.CauseHost, 200 * us},
	} {
		for _, from := range []int{0, 4} {
			t.Run(fmt.Sprintf("%s from step %d", c.name, from), func(t *testing.T) {
				r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", c.change(from)))
				if got := explaintest.LateRanks(r); !slices.Equal(got, c.late) {
					t.Errorf("got late ranks %v, want %v%s", got, c.late, explaintest.Describe(r))
				}
				most := int64(0)
				for _, f := range explaintest.Said(r, result.Straggler) {
					most = max(most, f.CostNSPerStep)
					if f.Cause != c.cause {
						t.Errorf("got cause %q, want %q%s", f.Cause, c.cause, explaintest.Describe(r))
					}
				}
				if most < c.cost {
					t.Errorf("got cost %d ns a step, want at least %d%s", most, c.cost, explaintest.Describe(r))
				}
				for _, f := range r.Findings {
					if title := report.Words(f.Title); f.Kind == result.Balanced || strings.Contains(title, "on all ranks") && f.Kind == result.SlowSince {
						t.Errorf("got finding %q, want none of all ranks or none: one rank is in time", title)
					}
				}
			})
		}
	}
}

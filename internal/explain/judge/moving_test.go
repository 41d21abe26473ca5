package judge_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestMovingImbalance has another rank late in each step: that is one finding, of imbalance, and no rank's fault.
func TestMovingImbalance(t *testing.T) {
	turns := []func(step int) int{
		func(n int) int { return n % 4 },
		func(n int) int { return (n + n*n/3) % 4 },
		func(n int) int { return (7*n + n*n/3) % 4 },
		func(n int) int { return n * n % 4 },
	}
	for i, turn := range turns {
		for _, c := range []struct {
			name   string
			change func(m *retime.Model)
		}{
			{"device 1.15", func(m *retime.Model) {
				m.Stretch(1.15, func(o *retime.Op) bool { return o.Rank == turn(o.Step) })
			}},
			{"device 1.5", func(m *retime.Model) {
				m.Stretch(1.5, func(o *retime.Op) bool { return o.Rank == turn(o.Step) })
			}},
			{"host", func(m *retime.Model) {
				for n := 1; n < m.Steps; n++ {
					m.Pause(turn(n), n, 300*us)
				}
			}},
		} {
			t.Run(fmt.Sprintf("%s, turns %d", c.name, i), func(t *testing.T) {
				r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", c.change))
				late := explaintest.Said(r, result.Straggler)
				if len(late) > 1 {
					t.Errorf("got %d findings, want one of the imbalance%s", len(late), explaintest.Describe(r))
				}
				for _, f := range late {
					if f.Severity == "high" || i == 0 && (len(f.Ranks) == 1 || len(f.Ranks) == 2) {
						t.Errorf("got a finding that blames single ranks or is of high severity%s", explaintest.Describe(r))
					}
				}
				if c.name != "device 1.15" && explaintest.Has(r, result.Balanced) {
					t.Errorf("got balanced, want an imbalance%s", explaintest.Describe(r))
				}
			})
		}
	}
}

// TestUnevenHosts has hosts with times that vary alike: in each step one of them comes last, by chance. That may be one
// finding but blames no rank.
func TestUnevenHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.Retimed(t, "balanced", func(m *retime.Model) { m.Resample(rand.New(rand.NewPCG(seed, 0))) }))
			late := explaintest.Said(r, result.Straggler)
			if len(late) > 1 || len(late) == 1 && (len(late[0].Ranks) == 1 || late[0].Severity == "high") {
				t.Errorf("got several findings, or one that blames a rank or is of high severity%s", explaintest.Describe(r))
			}
		})
	}
}

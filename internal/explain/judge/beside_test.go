package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestStallBesideTurns: ranks are late in turns, and one of them ten times as late in a few consecutive steps. That is
// not one of the turns.
func TestStallBesideTurns(t *testing.T) {
	turn := func(n int) int { return n % 4 }
	for _, c := range []struct {
		cause string
		steps int
		much  bool
	}{
		{result.CauseHost, 3, true}, {result.CauseHost, 4, true}, {result.CauseDevice, 3, true}, {result.CauseDevice, 4, true},
		{result.CauseHost, 3, false}, {result.CauseDevice, 3, false},
	} {
		t.Run(fmt.Sprintf("%s, %d steps, %v", c.cause, c.steps, c.much), func(t *testing.T) {
			const first = 5
			longer := func(o *retime.Op) bool { return o.Rank == 2 && o.Step >= first && o.Step < first+c.steps }
			r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", func(m *retime.Model) {
				if c.cause == result.CauseDevice {
					m.Stretch(1.3, func(o *retime.Op) bool { return o.Rank == turn(o.Step) })
					if c.much {
						m.Stretch(4, longer)
					}
					return
				}
				for n := 1; n < m.Steps; n++ {
					m.Pause(turn(n), n, 200*us)
					if c.much && n >= first && n < first+c.steps {
						m.Pause(2, n, 1500*us)
					}
				}
			}))
			want := []string{fmt.Sprintf("%s 1-10 passing", c.cause)}
			if c.much {
				want = []string{fmt.Sprintf("rank 2 %s %d-%d passing", c.cause, first, first+c.steps-1), want[0]}
			}
			if got := explaintest.Stragglers(r); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q%s", got, want, explaintest.Describe(r))
			}
		})
	}
}

// TestPauseBesideLateness: one pause of 450 ms, of the late rank or another, changes neither the first late step nor
// the cost.
func TestPauseBesideLateness(t *testing.T) {
	plain := explaintest.Said(explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", explaintest.Paused(1, 4, 300*us))), result.Straggler)[0]
	for _, rank := range []int{0, 1, 3} {
		for _, at := range []int{2, 5, 8} {
			r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", func(m *retime.Model) {
				explaintest.Paused(1, 4, 300*us)(m)
				m.Pause(rank, at, 450*ms)
			}))
			f := explaintest.Said(r, result.Straggler)
			if len(f) != 1 || explaintest.Brief(f[0]) != explaintest.Brief(plain) || 20*max(f[0].CostNSPerStep-plain.CostNSPerStep, plain.CostNSPerStep-f[0].CostNSPerStep) > plain.CostNSPerStep {
				t.Errorf("a pause of rank %d in step %d: want %s, %d ns%s", rank, at, explaintest.Brief(plain), plain.CostNSPerStep, explaintest.Describe(r))
			}
		}
	}
}

// TestFewSteps: a rank's cost in a window of a few steps equals that in a longer one.
func TestFewSteps(t *testing.T) {
	all := explaintest.Retimed(t, "graphs", explaintest.Paused(1, 1, 300*us))
	whole := explaintest.Said(explaintest.Analyzed(t, all), result.Straggler)[0].CostNSPerStep
	for _, steps := range []int{5, 7, 9} {
		for from := 1; from+steps <= 11; from++ {
			ts := slices.Clone(all)
			for i := range ts {
				ts[i] = explaintest.DropSteps(all[i], func(n, _ int) bool { return n < from || n >= from+steps })
			}
			r := explaintest.Analyzed(t, ts)
			if f := explaintest.Said(r, result.Straggler); len(f) != 1 || 20*max(f[0].CostNSPerStep-whole, whole-f[0].CostNSPerStep) > whole {
				t.Errorf("%d steps from %d: want %d ns%s", steps, from, whole, explaintest.Describe(r))
			}
		}
	}
}

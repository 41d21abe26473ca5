package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestStaysAfterTurns has ranks late in turns, and then one of them alone, to the end: that rank is to blame, whatever
// came before.
func TestStaysAfterTurns(t *testing.T) {
	for _, from := range []int{6, 7} {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", func(m *retime.Model) {
				for n := 1; n < from; n++ {
					m.Pause(n%4, n, 300*us)
				}
				explaintest.Paused(2, from, 1000*us)(m)
			}))
			found := slices.ContainsFunc(explaintest.Said(r, result.Straggler), func(f result.Finding) bool {
				return slices.Equal(f.Ranks, []int{2}) && f.FirstStep <= from && !f.Passing
			})
			if !found {
				t.Errorf("rank 2 is not reported late from step %d to the end%s", from, explaintest.Describe(r))
			}
		})
	}
}

// TestNoiseBeforeOnset has ranks late in turns of up to three steps, and then one of them alone for five steps, by as
// much. That rank is late from then on. Without the last five steps no rank is.
func TestNoiseBeforeOnset(t *testing.T) {
	for _, onset := range []bool{true, false} {
		r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", func(m *retime.Model) {
			for n, rank := range []int{0, 1, 1, 1, 0} {
				m.Pause(rank, n+1, 300*us)
			}
			if onset {
				explaintest.Paused(2, 6, 300*us)(m)
			}
		}))
		found := slices.ContainsFunc(explaintest.Said(r, result.Straggler), func(f result.Finding) bool {
			return slices.Equal(f.Ranks, []int{2}) && f.FirstStep == 6 && !f.Passing
		})
		if found != onset {
			t.Errorf("onset %v: got rank 2 late from step 6 on: %v%s", onset, found, explaintest.Describe(r))
		}
	}
}

// TestRegularPeaks has one rank lose most of a step every third step, while ranks are late in turns, for less, in the
// steps between. Without the peaks there are only the turns.
func TestRegularPeaks(t *testing.T) {
	for _, peaks := range []bool{true, false} {
		r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", func(m *retime.Model) {
			for n, rank := range []int{0, 1, 2, 3, 1, 0, 2, 1, 3, 0} {
				m.Pause(rank, n+1, 300*us)
			}
			for n := 2; n < 9 && peaks; n += 3 {
				m.Pause(3, n, 1000*us)
			}
		}))
		found := slices.ContainsFunc(explaintest.Said(r, result.Straggler), func(f result.Finding) bool {
			return slices.Equal(f.Ranks, []int{3}) && fmt.Sprint(f.Steps) == "[2 5 8]"
		})
		if found != peaks {
			t.Errorf("peaks %v: got rank 3 late every three steps: %v%s", peaks, found, explaintest.Describe(r))
		}
	}
}

// TestRareButGreat has one rank stall in some steps, and the other in a single one, for far less time: that is not a
// moving imbalance.
func TestRareButGreat(t *testing.T) {
	r := explaintest.Analyzed(t, explaintest.Retimed(t, "graph_work", func(m *retime.Model) {
		for n := 2; n < 6; n++ {
			m.Pause(1, n, 20_000*us)
		}
		m.Pause(0, 9, 3000*us)
	}))
	for _, f := range explaintest.Said(r, result.Straggler) {
		if f.Cause == result.CauseHost && !slices.Equal(f.Ranks, []int{1}) {
			t.Errorf("got a late host on other ranks, want rank 1 only%s", explaintest.Describe(r))
		}
	}
}

// TestCutInFirstStep has a rank whose file ends in its first step: like a missing rank, it does not prevent the
// comparison of the others' steps.
func TestCutInFirstStep(t *testing.T) {
	ts := explaintest.RealSet(t, "graphs")
	whole := explaintest.Compared(t, ts, ts, explain.CompareOptions{})
	cut := retime.Copy(ts)
	retime.Keep(cut[3], 0, 0)
	cut[3].Source.Complete = false
	if c := explaintest.Compared(t, cut, cut, explain.CompareOptions{}); len(whole.Steps) == 0 || len(c.Steps) != len(whole.Steps) {
		t.Errorf("cut file: %d step figures are compared, want %d as with whole files", len(c.Steps), len(whole.Steps))
	}
}

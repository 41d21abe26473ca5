package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// delayed returns a report of a window in which one kernel in each step of a rank, except the first, takes ns longer:
// the rank comes later to one collective of the step.
func delayed(t *testing.T, window []*trace.Trace, rank int, ns int64) *result.Report {
	t.Helper()
	m := retime.New(window)
	for step := range m.Steps {
		ops := slices.DeleteFunc(slices.Clone(m.Ops), func(o *retime.Op) bool { return o.Rank != rank || o.Step != step || o.Meet != nil })
		ops[len(ops)/2].Dur += ns
	}
	ts, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	return explaintest.Analyzed(t, ts)
}

// TestDetectable: a report gives the smallest lateness that it would have found. A tenth more is found, on whichever
// rank; half as much is not found.
func TestDetectable(t *testing.T) {
	for _, c := range []struct {
		set   string
		last  int // steps up to it have no disturbance
		ranks int
		least int // number of late steps needed to exclude chance
	}{
		{set: "graphs", last: 10, ranks: 4, least: 4},
		{set: "graphs", last: 10, ranks: 8, least: 3},
		{set: "graph_work", last: 5, ranks: 2}, // two ranks, and five steps after the first: too few
	} {
		t.Run(fmt.Sprintf("%s to %d, %d ranks", c.set, c.last, c.ranks), func(t *testing.T) {
			window := explaintest.RealSet(t, c.set)
			if c.ranks != len(window) {
				window = retime.Wide(window, c.ranks)
			} else {
				window = retime.Copy(window)
			}
			for _, tr := range window {
				retime.Keep(tr, 0, c.last)
			}
			seen := delayed(t, window, 0, 0).Chance.Seen
			if len(seen) != 1 || seen[0].Least != c.least || seen[0].Steps != c.last {
				t.Fatalf("got detectable lateness %+v, want one entry: least %d, steps %d", seen, c.least, c.last)
			}
			for rank := range c.ranks {
				if r := delayed(t, window, rank, seen[0].NS*11/10); !slices.Equal(explaintest.LateRanks(r), []int{rank}) {
					t.Errorf("rank %d late by 1.1 × %d ns is not found%s", rank, seen[0].NS, explaintest.Describe(r))
				}
				if r := delayed(t, window, rank, seen[0].NS/2); len(explaintest.LateRanks(r)) > 0 {
					t.Errorf("rank %d late by 0.5 × %d ns is found%s", rank, seen[0].NS, explaintest.Describe(r))
				}
			}
		})
	}
}

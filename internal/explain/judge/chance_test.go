package judge_test

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// lateBy returns a window of the first ranks of a healthy capture with one late host per step: the one named by the
// digit, none for a dot.
func lateBy(t *testing.T, ranks int, steps string) *result.Report {
	t.Helper()
	m := retime.New(explaintest.RealSet(t, "graphs")[:ranks])
	for n, r := range steps {
		if r != '.' {
			m.Pause(int(r-'0'), n, 400*us)
		}
	}
	ts, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	return explaintest.Analyzed(t, ts)
}

type counts struct{ Tested, HeldBack, Untested int }

// TestChance: a rank that chance alone makes late so often is not called late. With too few steps for a test, the
// finding stays without a probability.
func TestChance(t *testing.T) {
	for _, c := range []struct {
		what   string
		ranks  int
		steps  string
		want   []string
		p      float64
		chance counts
	}{
		{
			what: "one of two in all ten steps: 2 of 1024 ways", ranks: 2, steps: ".1111111111",
			want: []string{"rank 1 host 1-10"}, p: 2.0 / 1024, chance: counts{Tested: 1},
		},
		{what: "one of two in most steps, the other in the rest", ranks: 2, steps: ".1011011111", chance: counts{Tested: 1, HeldBack: 1}},
		{what: "one of two in the last four steps: too few to test with two ranks", ranks: 2, steps: ".......1111", want: []string{"rank 1 host 7-10"}, chance: counts{Untested: 1}},
		{what: "one of four in the last four: 4 of 256 ways", ranks: 4, steps: ".......1111", want: []string{"rank 1 host 7-10"}, p: 4.0 / 256, chance: counts{Tested: 1}},
		{
			what: "one of four in the last three: too few to test, but the others were late as often before", ranks: 4, steps: ".0120.12333",
			want: []string{"host 1-7 passing"}, chance: counts{Tested: 1, HeldBack: 1},
		},
		{what: "one of four in the last three, none before", ranks: 4, steps: "........333", want: []string{"rank 3 host 8-10"}, chance: counts{Untested: 1}},
		{what: "no rank is late", ranks: 4, steps: "..........."},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := lateBy(t, c.ranks, c.steps)
			if got := explaintest.Stragglers(r); !slices.Equal(got, c.want) {
				t.Errorf("got %q late, want %q%s", got, c.want, explaintest.Describe(r))
			}
			if none := c.chance == (counts{}); none != explaintest.Has(r, result.Balanced) {
				t.Errorf("got balanced %v, want %v", !none, none)
			}
			for _, f := range explaintest.Said(r, result.Straggler) {
				if f.P != c.p {
					t.Errorf("got p %v, want %v", f.P, c.p)
				}
				says := slices.ContainsFunc(f.Evidence, func(e result.Evidence) bool { return e.Text.Key == "by_chance" && e.Value == c.p })
				if says != (c.p > 0) {
					t.Errorf("the evidence states p: got %v, want %v", says, c.p > 0)
				}
			}
			if got := (counts{r.Chance.Tested, r.Chance.HeldBack, r.Chance.Untested}); got != c.chance {
				t.Errorf("got counts %+v, want %+v", got, c.chance)
			}
		})
	}
}

// TestChanceOne: a single rank has no lateness to test.
func TestChanceOne(t *testing.T) {
	r := explaintest.Analyzed(t, explaintest.RealSet(t, "graphs")[:1])
	if c := r.Chance; c.Tested+c.Untested+len(c.Seen) > 0 || c.Tests.String()+c.Says.String() != "" {
		t.Errorf("one rank: got %+v, want no tests", c)
	}
}

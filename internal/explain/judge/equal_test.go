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

// TestEquallyLate has a real capture of four ranks many times over, so that every fourth rank is late. That is one
// finding, and its worth is that of mending all these ranks.
func TestEquallyLate(t *testing.T) {
	for _, c := range []struct {
		set   string
		ranks int
		late  int // 0: none
	}{
		{"compute_skew", 16, 4},
		{"compute_skew", 64, 16},
		{"graphs", 16, 0},
	} {
		t.Run(fmt.Sprint(c.set, " ", c.ranks), func(t *testing.T) {
			r := explaintest.Analyzed(t, retime.Wide(explaintest.RealSet(t, c.set), c.ranks))
			late := explaintest.Said(r, result.Straggler)
			if c.late == 0 {
				if len(late) > 0 {
					t.Errorf("got a late rank, want none%s", explaintest.Describe(r))
				}
				return
			}
			if len(late) != 1 || len(late[0].Ranks) != c.late || late[0].Severity == "low" {
				t.Fatalf("got %d findings, want one on %d ranks%s", len(late), c.late, explaintest.Describe(r))
			}
			title := report.Words(late[0].Title)
			for _, want := range []string{fmt.Sprintf("%d of %d ranks (TP02, TP06, ", c.late, c.ranks), "they run 201 kernels a step, the others 117", "fixing all of them: 43.3 → 41.5 ms"} {
				if !strings.Contains(title, want) {
					t.Errorf("title lacks %q: %s", want, title)
				}
			}
		})
	}
}

// TestLateInGroups has a real capture of four ranks many times over as data-parallel groups, each with a late rank. That
// is one finding, unless the ranks are late at different times.
func TestLateInGroups(t *testing.T) {
	for _, c := range []struct {
		set    string
		groups int
		apart  bool // two hosts are late at different times
		want   []string
	}{
		{"compute_skew", 16, false, []string{"16 of 64 ranks (TP02-DP00 to TP02-DP15) are late from step 7 on: they run 201 kernels a step, the others 117"}},
		{"graphs", 16, false, nil},
		{"graphs", 2, true, []string{"TP01-DP00 is late from step 3 on", "TP02-DP01 is late from step 7 on"}},
	} {
		t.Run(fmt.Sprint(c.set, " ", c.groups), func(t *testing.T) {
			ts := retime.Groups(explaintest.RealSet(t, c.set), c.groups)
			if c.apart {
				m := retime.New(ts)
				explaintest.Paused(1, 3, 3_000_000)(m)
				explaintest.Paused(6, 7, 3_000_000)(m)
				var err error
				if ts, err = m.Run(); err != nil {
					t.Fatal(err)
				}
			}
			r := explaintest.Analyzed(t, ts)
			var late []result.Finding
			for _, f := range explaintest.Said(r, result.Straggler) {
				if f.Severity != "low" {
					late = append(late, f)
				}
			}
			if len(late) != len(c.want) {
				t.Fatalf("got %d findings on late ranks, want %d%s", len(late), len(c.want), explaintest.Describe(r))
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(late, func(f result.Finding) bool { return strings.HasPrefix(report.Words(f.Title), want) }) {
					t.Errorf("no finding %q%s", want, explaintest.Describe(r))
				}
			}
			if c.set == "compute_skew" && (len(late[0].Ranks) != c.groups || !strings.Contains(report.Words(late[0].Title), "fixing all of them: 43.3 → 41.5 ms")) {
				t.Errorf("want the worth of fixing %d ranks%s", c.groups, explaintest.Describe(r))
			}
		})
	}
}

// TestTwoSteps: lateness in all steps of a window of two steps is not transient.
func TestTwoSteps(t *testing.T) {
	for _, c := range []struct {
		last int
		want string // in the title
		not  string
	}{
		{9, "in both recorded steps", "transient"},
		{13, "from step 0 on", "both"},
	} {
		ts := retime.Copy(explaintest.RealSet(t, "compute_skew"))
		for _, tr := range ts {
			retime.Keep(tr, 8, c.last)
		}
		r := explaintest.Analyzed(t, ts)
		late := slices.DeleteFunc(explaintest.Said(r, result.Straggler), func(f result.Finding) bool { return f.Cause != result.CauseWork })
		if len(late) != 1 {
			t.Fatalf("steps 8 to %d: got %d findings, want one%s", c.last, len(late), explaintest.Describe(r))
		}
		if title := report.Words(late[0].Title); !strings.Contains(title, c.want) || strings.Contains(title, c.not) {
			t.Errorf("steps 8 to %d: the title lacks %q: %s", c.last, c.want, title)
		}
	}
}

// TestFasterRank: if one rank is faster than all others from the beginning, it is called faster, and the others are not
// called late. If the others become slow later, they are late.
func TestFasterRank(t *testing.T) {
	for _, c := range []struct {
		from int
		says string
	}{
		{0, "TP00 is faster than the other 3 ranks"},
		{4, "3 of 4 ranks (TP01, TP02, TP03) are late from step 4 on"},
	} {
		r := explaintest.Analyzed(t, explaintest.Retimed(t, "graphs", explaintest.Slowed(1.3, c.from, 1, 2, 3)))
		late := explaintest.Said(r, result.Straggler)
		if len(late) != 1 || !strings.HasPrefix(report.Words(late[0].Title), c.says) {
			t.Errorf("slower from step %d: got no single finding that %s%s", c.from, c.says, explaintest.Describe(r))
		}
	}
}

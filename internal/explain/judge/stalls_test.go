package judge_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// stalled makes the hosts of all ranks of a real capture stall at the beginning of two steps.
func stalled(t *testing.T, set string, ns int64) []*trace.Trace {
	t.Helper()
	ranks := len(explaintest.RealSet(t, set))
	return explaintest.Retimed(t, set, func(m *retime.Model) {
		for rank := range ranks {
			m.Pause(rank, 4, ns)
			m.Pause(rank, 8, ns)
		}
	})
}

// TestStallsOfAllRanks: stalls of all ranks in two steps hardly change the median step, but the verdict gives their share of the
// time. Short stalls are not in the verdict.
func TestStallsOfAllRanks(t *testing.T) {
	for _, c := range []struct {
		set      string
		ns       int64
		severity string // "": no finding
		verdict  []string
	}{
		{"graphs", 0, "", []string{"balanced"}},
		{"graphs", 400_000, "", []string{"balanced"}},
		{"graphs", 3_000_000, "medium", []string{"2 of 10 decode steps (3, 7) took 4.13 ms instead of 1.14 ms", "34.6 % of the time of all decode steps"}},
		{"graphs", 30_000_000, "high", []string{"2 of 10 decode steps (3, 7) took 31.1 ms instead of 1.14 ms", "84.1 % of the time of all decode steps"}},
		{"graph_work", 30_000_000, "high", []string{"TP01 does extra work from step 6 on", "67.3 % of the time of all decode steps"}},
	} {
		r := explaintest.Analyzed(t, stalled(t, c.set, c.ns))
		severity := ""
		for _, f := range explaintest.Said(r, result.SlowStep) {
			if f.Severity != "low" {
				severity = f.Severity
			}
		}
		if severity != c.severity {
			t.Errorf("%s, %d ns: got slow steps of severity %q, want %q%s", c.set, c.ns, severity, c.severity, explaintest.Describe(r))
		}
		for _, want := range c.verdict {
			if got := report.Words(r.Verdict); !strings.Contains(got, want) {
				t.Errorf("%s, %d ns: the verdict lacks %q: %s", c.set, c.ns, want, got)
			}
		}
	}
}

// TestStallsOfAllRanksCompared: stalls are the reason for a longer time per step, also if both captures have some.
func TestStallsOfAllRanksCompared(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want string // in the verdict
	}{
		{0, 0, "identical"},
		{0, 30_000_000, "Why: 2 of 10 decode steps (3, 7) took 31.1 ms"},
		{30_000_000, 0, "Why: gone since A: 2 of 10 decode steps (3, 7) took 31.1 ms"},
		{3_000_000, 300_000_000, "Why: 2 of 10 decode steps (3, 7) took 301 ms"},
	} {
		cmp, err := explain.Compare(stalled(t, "graphs", c.a), stalled(t, "graphs", c.b), explain.CompareOptions{IDA: "a", IDB: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.Words(cmp.Verdict); !strings.Contains(got, c.want) {
			t.Errorf("stalls of %d and %d ns: the verdict lacks %q: %s", c.a, c.b, c.want, got)
		}
	}
}

// TestStallOfFewSteps: one slow step among five takes a large share of the time, but is in the verdict only if it takes
// more time than all others. Among ten steps, the same share counts.
func TestStallOfFewSteps(t *testing.T) {
	ranks := len(explaintest.RealSet(t, "graphs"))
	for _, c := range []struct {
		steps    int
		stall    float64 // length of the slow step, relative to a usual one
		severity string
	}{
		{5, 2.5, "low"},
		{5, 12, "high"},
		{10, 1.3, "low"},
		{10, 5, "medium"},
	} {
		set := explaintest.Retimed(t, "graphs", func(m *retime.Model) {
			for rank := range ranks {
				m.Pause(rank, 4, int64((c.stall-1)*1_140_000))
			}
		})
		for _, tr := range set {
			retime.Keep(tr, 0, c.steps)
		}
		severity := "low"
		for _, f := range explaintest.Said(explaintest.Analyzed(t, set), result.SlowStep) {
			if f.Severity != "low" {
				severity = f.Severity
			}
		}
		if severity != c.severity {
			t.Errorf("%d steps, one %g times as long: got severity %q, want %q", c.steps, c.stall, severity, c.severity)
		}
	}
}

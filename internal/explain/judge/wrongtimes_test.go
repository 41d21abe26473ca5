package judge_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// TestWrongTimes: if GPU work ends after the synchronisation that waited for it, its times are wrong, so no part of a
// slow step is blamed. A few late ops, or none, change nothing.
func TestWrongTimes(t *testing.T) {
	for _, c := range []struct {
		late  int64
		wrong bool
	}{{0, false}, {1, false}, {200, true}} {
		m := explaintest.Even(16)
		m.Dense = func(_, n int) int64 { return 40_000 * int64(1+n/8*4) }
		ts := m.Traces()
		if c.late > 0 {
			ts[0].Notes = append(ts[0].Notes, trace.Note{Kind: trace.NoteLateOps, Count: c.late})
		}
		r, found := explaintest.Analyzed(t, ts), false
		for _, f := range r.Findings {
			if f.Kind != result.SlowSince {
				continue
			}
			found = true
			title := report.Words(f.Title)
			if blamed := strings.Contains(title, "compute grew"); blamed == c.wrong || c.wrong != strings.Contains(title, "the times of GPU work are wrong") {
				t.Errorf("%d late ops: got %q", c.late, title)
			}
		}
		if !found {
			t.Errorf("%d late ops: the slower steps were not found%s", c.late, explaintest.Describe(r))
		}
		if said := strings.Contains(explaintest.AllWords(r), "end after the synchronisation that waited for them"); said != c.wrong {
			t.Errorf("%d late ops: said %v, want %v%s", c.late, said, c.wrong, explaintest.Describe(r))
		}
	}
}

package explain_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestRankTwice has the file of a rank twice in a set: it counts once.
func TestRankTwice(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []*trace.Trace
	}{
		{"host", explaintest.Retimed(t, "graphs", explaintest.Paused(1, 3, 500*us))},
		{"work", explaintest.RealSet(t, "graph_work")},
		{"device", explaintest.RealSet(t, "g_device_r1")},
	} {
		want := explaintest.Analyzed(t, c.set)
		for i := range c.set {
			t.Run(c.name+" "+c.set[i].Source.Rank.String(), func(t *testing.T) {
				got := explaintest.Analyzed(t, append(slices.Clone(c.set), c.set[i]))
				sameFindings(t, got, want, 0.01)
				if len(got.Source.Ranks) != len(c.set) {
					t.Errorf("got ranks %q, want %d", got.Source.Ranks, len(c.set))
				}
				explaintest.CheckSentences(t, got)
			})
		}
	}
}

// TestWholeSentences: no evidence ends in the middle of a sentence, whatever is missing.
func TestWholeSentences(t *testing.T) {
	two := explaintest.RealSet(t, "graph_work")
	for _, ts := range [][]*trace.Trace{
		append(slices.Clone(two), two[1]), two[:1], two[1:],
		explaintest.Retimed(t, "graphs", explaintest.Slowed(1.5, 4, 3)), explaintest.RealSet(t, "g_mixed"), explaintest.RealSet(t, "sglang_stops"), explaintest.RealSet(t, "compute_skew"),
	} {
		explaintest.CheckSentences(t, explaintest.Analyzed(t, ts))
	}
}

// TestForeignRank puts a rank of another capture into a set: that is an error or, with --force, the report's first
// statement.
func TestForeignRank(t *testing.T) {
	skew := explaintest.RealSet(t, "compute_skew")
	for _, c := range []struct {
		name string
		set  []*trace.Trace
	}{
		{"graph_work with g_mixed", []*trace.Trace{explaintest.RealSet(t, "graph_work")[0], explaintest.RealSet(t, "g_mixed")[1]}},
		{"g_device_r1 with graph_work", []*trace.Trace{explaintest.RealSet(t, "g_device_r1")[0], explaintest.RealSet(t, "graph_work")[1]}},
		{"sglang_shared with sglang_stops", []*trace.Trace{explaintest.RealSet(t, "sglang_shared")[0], explaintest.RealSet(t, "sglang_stops")[1]}},
		{"compute_skew with graphs", append(slices.Clone(skew[:3]), explaintest.RealSet(t, "graphs")[3])},
		{"compute_skew with balanced", append(slices.Clone(skew[:3]), explaintest.RealSet(t, "balanced")[3])},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := explain.Analyze(c.set, explain.Options{})
			if err == nil && (r.Findings[0].Kind != result.Data || r.Findings[0].Severity != "high") {
				t.Errorf("got no error and no leading data finding of high severity%s", explaintest.Describe(r))
			}
		})
	}
}

// TestNotOneCapture: ranks of two captures are refused; with --force the report notes it.
func TestNotOneCapture(t *testing.T) {
	mixed := []*trace.Trace{explaintest.RealSet(t, "sglang_shared")[0], explaintest.RealSet(t, "sglang_stops")[1]}
	var refused *explain.NotOneError
	if _, err := explain.Analyze(mixed, explain.Options{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "TP01 was recorded 24 s apart from TP00") {
		t.Errorf("ranks of two captures: got error %v, want a refusal: TP01 was recorded 24 s apart", err)
	}
	if r, err := explain.Analyze(mixed, explain.Options{Force: true}); err != nil || len(r.Source.Doubts) != 1 || !strings.HasPrefix(explaintest.Text(t, r), "not one capture: TP01") {
		t.Errorf("forced: got error %v, want a report that begins with the doubt", err)
	}
	hosts := explaintest.RealSet(t, "graphs") // clocks of hosts may differ by any amount
	retime.Clock(hosts[1], 3600e9, 0)
	if r := explaintest.Analyzed(t, hosts); !explaintest.Has(r, result.Balanced) {
		t.Errorf("a clock an hour ahead: want balanced%s", explaintest.Describe(r))
	}
}

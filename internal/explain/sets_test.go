package explain

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// TestRankTwice has the file of a rank twice in a set: it counts once.
func TestRankTwice(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []*trace.Trace
	}{
		{"host", retimed(t, "graphs", paused(1, 3, 500*us))},
		{"work", realSet(t, "graph_work")},
		{"device", realSet(t, "g_device_r1")},
	} {
		want := analyzed(t, c.set)
		for i := range c.set {
			t.Run(c.name+" "+c.set[i].Source.Rank.String(), func(t *testing.T) {
				got := analyzed(t, append(slices.Clone(c.set), c.set[i]))
				sameFindings(t, got, want, 0.01)
				if len(got.Source.Ranks) != len(c.set) {
					t.Errorf("got ranks %q, want %d", got.Source.Ranks, len(c.set))
				}
				checkSentences(t, got)
			})
		}
	}
}

// TestWholeSentences: no evidence ends in the middle of a sentence, whatever is missing.
func TestWholeSentences(t *testing.T) {
	two := realSet(t, "graph_work")
	for _, ts := range [][]*trace.Trace{
		append(slices.Clone(two), two[1]), two[:1], two[1:],
		retimed(t, "graphs", slowed(1.5, 4, 3)), realSet(t, "g_mixed"), realSet(t, "sglang_stops"), realSet(t, "compute_skew"),
	} {
		checkSentences(t, analyzed(t, ts))
	}
}

// TestForeignRank puts a rank of another capture into a set: that is an error or, with --force, the report's first
// statement.
func TestForeignRank(t *testing.T) {
	skew := realSet(t, "compute_skew")
	for _, c := range []struct {
		name string
		set  []*trace.Trace
	}{
		{"graph_work with g_mixed", []*trace.Trace{realSet(t, "graph_work")[0], realSet(t, "g_mixed")[1]}},
		{"g_device_r1 with graph_work", []*trace.Trace{realSet(t, "g_device_r1")[0], realSet(t, "graph_work")[1]}},
		{"sglang_shared with sglang_stops", []*trace.Trace{realSet(t, "sglang_shared")[0], realSet(t, "sglang_stops")[1]}},
		{"compute_skew with graphs", append(slices.Clone(skew[:3]), realSet(t, "graphs")[3])},
		{"compute_skew with balanced", append(slices.Clone(skew[:3]), realSet(t, "balanced")[3])},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Analyze(c.set, Options{})
			if err == nil && (r.Findings[0].Kind != result.Data || r.Findings[0].Severity != "high") {
				t.Errorf("got no error and no leading data finding of high severity%s", describe(r))
			}
		})
	}
}

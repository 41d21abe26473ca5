package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// retimed returns a real capture after a change.
func retimed(t testing.TB, set string, change func(m *retime.Model)) []*trace.Trace {
	t.Helper()
	m := retime.New(realSet(t, set))
	change(m)
	ts, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// paused makes a rank's host stall in each step, beginning with step from.
func paused(rank, from int, ns int64) func(m *retime.Model) {
	return func(m *retime.Model) {
		for n := from; n < m.Steps; n++ {
			m.Pause(rank, n, ns)
		}
	}
}

// slowed makes the kernels of ranks take longer from a step on.
func slowed(by float64, from int, ranks ...int) func(m *retime.Model) {
	return func(m *retime.Model) {
		m.Stretch(by, func(o *retime.Op) bool { return o.Step >= from && slices.Contains(ranks, o.Rank) })
	}
}

// said returns a report's findings of the given kinds.
func said(r *result.Report, kinds ...string) (out []result.Finding) {
	for _, f := range r.Findings {
		if slices.Contains(kinds, f.Kind) {
			out = append(out, f)
		}
	}
	return out
}

// lateRanks returns the ranks that any finding calls late.
func lateRanks(r *result.Report) (out []int) {
	for _, f := range said(r, result.Straggler) {
		out = append(out, f.Ranks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// blamesTransfers reports whether a finding blames slower transfers.
func blamesTransfers(f result.Finding) bool {
	return f.Kind == result.SlowLink || strings.Contains(f.Title.String(), "part_transfer")
}

// checkSentences checks that every text of a report is a whole sentence.
func checkSentences(t *testing.T, r *result.Report) {
	t.Helper()
	whole := func(s string) {
		words := strings.Fields(s)
		if len(words) == 0 || slices.Contains([]string{"by", "of", "in", "for", "than", "against", "and", "with"}, strings.TrimRight(words[len(words)-1], ",:;")) ||
			strings.HasSuffix(s, ",") || strings.Contains(s, " , ") || strings.Contains(s, "  ") {
			t.Errorf("incomplete sentence: %q", s)
		}
	}
	for _, f := range r.Findings {
		whole(report.Words(f.Title))
		for _, e := range f.Evidence {
			whole(report.Words(e.Text))
		}
	}
}

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

// retimed is a real capture with something changed.
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

// paused has the host of a rank stand still in each of the steps from one on.
func paused(rank, from int, ns int64) func(m *retime.Model) {
	return func(m *retime.Model) {
		for n := from; n < m.Steps; n++ {
			m.Pause(rank, n, ns)
		}
	}
}

// slowed has the kernels of ranks take longer from a step on.
func slowed(by float64, from int, ranks ...int) func(m *retime.Model) {
	return func(m *retime.Model) {
		m.Stretch(by, func(o *retime.Op) bool { return o.Step >= from && slices.Contains(ranks, o.Rank) })
	}
}

// said is a report's findings of the given kinds.
func said(r *result.Report, kinds ...string) (out []result.Finding) {
	for _, f := range r.Findings {
		if slices.Contains(kinds, f.Kind) {
			out = append(out, f)
		}
	}
	return out
}

// lateRanks are those that any finding calls late.
func lateRanks(r *result.Report) (out []int) {
	for _, f := range said(r, result.Straggler) {
		out = append(out, f.Ranks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// blamesTransfers tells whether a finding says that transfers take longer.
func blamesTransfers(f result.Finding) bool {
	return f.Kind == result.SlowLink || strings.Contains(f.Title.String(), "part_transfer")
}

// checkSentences holds every text of a report to be a whole sentence.
func checkSentences(t *testing.T, r *result.Report) {
	t.Helper()
	whole := func(s string) {
		words := strings.Fields(s)
		if len(words) == 0 || slices.Contains([]string{"by", "of", "in", "for", "than", "against", "and", "with"}, strings.TrimRight(words[len(words)-1], ",:;")) ||
			strings.HasSuffix(s, ",") || strings.Contains(s, " , ") || strings.Contains(s, "  ") {
			t.Errorf("half a sentence: %q", s)
		}
	}
	for _, f := range r.Findings {
		whole(report.Words(f.Title))
		for _, e := range f.Evidence {
			whole(report.Words(e.Text))
		}
	}
}

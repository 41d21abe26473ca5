package explaintest

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// Analyzed analyses traces and checks the guarantees of every report.
func Analyzed(t testing.TB, ts []*trace.Trace) *result.Report {
	t.Helper()
	r, err := explain.Analyze(ts, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	CheckIdentities(t, r)
	return r
}

// Referred analyses traces with a reference, and also checks the sentences of the report.
func Referred(t *testing.T, ts []*trace.Trace, ref *trace.Reference) *result.Report {
	t.Helper()
	r, err := explain.Analyze(ts, explain.Options{Reference: ref})
	if err != nil {
		t.Fatal(err)
	}
	CheckIdentities(t, r)
	CheckSentences(t, r)
	return r
}

// StepsOf returns a reference with unrecorded decode steps of this batch and length.
func StepsOf(batch int, ns int64) *trace.Reference {
	return &trace.Reference{From: trace.FromTokens, Paces: []trace.StepTime{{Batch: batch, N: 100, Median: ns, Low: ns - ns/50, High: ns + ns/50}}}
}

// Compared compares captures.
func Compared(t *testing.T, a, b []*trace.Trace, opt explain.CompareOptions) *result.Comparison {
	t.Helper()
	c, err := explain.Compare(a, b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// AnyBy returns the limit for all figures.
func AnyBy(share float64) gate.Limits { return gate.Limits{{By: share}} }

// Text returns a report as text.
func Text(t *testing.T, r *result.Report) string {
	var b strings.Builder
	if err := report.Text(&b, r, report.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

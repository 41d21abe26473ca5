package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// TestLateBesideLost: a late rank is found beside a rank of which the recording lost work.
func TestLateBesideLost(t *testing.T) {
	want := explaintest.Stragglers(explaintest.Analyzed(t, explaintest.RealSet(t, "compute_skew")))
	for _, c := range []struct {
		name string
		set  []*trace.Trace
	}{
		{"as recorded", explaintest.RealSet(t, "compute_skew")},
		{"rank 1 lost work in all steps", explaintest.DropKernels(explaintest.RealSet(t, "compute_skew"), 1, 0.4, 0)},
		{"rank 1 lost work in the second half", explaintest.DropKernels(explaintest.RealSet(t, "compute_skew"), 1, 0.4, 700)},
	} {
		r := explaintest.Analyzed(t, c.set)
		lost := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-lost-tp01" })
		if late := explaintest.Stragglers(r); !slices.Equal(late, want) || lost >= 0 != r.Partial() || r.Partial() != (c.name != "as recorded") {
			t.Errorf("%s: got late ranks %q, finding of lost work %d; want %q%s", c.name, late, lost, want, explaintest.Describe(r))
		}
	}
}

// TestLateRankLost: nothing is said about the lateness of a rank in steps of which the recording lost its work. If this is
// true of all steps, neither balance nor slower collectives are found.
func TestLateRankLost(t *testing.T) {
	for _, c := range []struct {
		name           string
		set            []*trace.Trace
		missing, later bool
	}{
		{"as recorded", explaintest.RealSet(t, "compute_skew"), false, false},
		{"balanced as recorded", explaintest.RealSet(t, "balanced"), false, false},
		{"all steps", explaintest.DropKernels(explaintest.RealSet(t, "compute_skew"), 2, 0.15, 0), true, false},
		{"the steps in which it is late", explaintest.DropKernels(explaintest.RealSet(t, "compute_skew"), 2, 0.15, 900), false, true},
	} {
		r := explaintest.Analyzed(t, c.set)
		said := explaintest.Has(r, result.Balanced) || explaintest.Has(r, result.SlowSince) || explaintest.Has(r, result.SlowLink) || explaintest.Has(r, result.Straggler)
		when := slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
			return f.Kind == result.Straggler && strings.Contains(report.Words(f.Title), "cannot be compared in 7 of the 8 later steps")
		})
		if said == c.missing || when != c.later {
			t.Errorf("%s: got a statement about all ranks %t, later steps left open %t; want %t, %t%s", c.name, said, when, !c.missing, c.later, explaintest.Describe(r))
		}
	}
}

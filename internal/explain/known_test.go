package explain_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// known is a real capture with its expected findings.
type known struct {
	set string
	// all lists every straggler of the causes work and device, and of host if the capture has no natural lateness; in
	// brief form.
	all []string
	// causes covered by all; nil: every cause
	causes []string
	// also must be among the findings; rank and cause only
	natural  string
	balanced bool
}

var knownSets = []known{
	{set: "graphs", balanced: true},
	{set: "stacks", balanced: true},
	{set: "graph_work", all: []string{"rank 1 work 6-14"}},
	{set: "compute_skew", all: []string{"rank 2 work 7-13"}, causes: []string{result.CauseWork, result.CauseDevice, result.CauseCommunication}},
	{set: "balanced", all: []string{"rank 1 host 5-8 passing"}},
	{set: "g_mixed", all: []string{"rank 0 host 4-19", "rank 1 work 10-19"}},
	{set: "g_device_r1", all: []string{"rank 1 device 6-15"}},
}

func TestKnownTruth(t *testing.T) {
	for _, k := range knownSets {
		t.Run(k.set, func(t *testing.T) { k.check(t, filepath.Join(explaintest.Traces, k.set)) })
	}
}

// TestKnownLarge checks the large set of the shared data, which is not in the repository.
func TestKnownLarge(t *testing.T) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory with traces/large")
	}
	k := known{set: "large", causes: []string{result.CauseWork, result.CauseDevice, result.CauseCommunication}, natural: "rank 0 host"}
	k.check(t, filepath.Join(root, "traces", k.set))
}

func (k known) check(t *testing.T, dir string) {
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
	if got := explaintest.Stragglers(r, k.causes...); !slices.Equal(got, k.all) {
		t.Errorf("got stragglers %q, want %q%s", got, k.all, explaintest.Describe(r))
	}
	if k.balanced != explaintest.Has(r, result.Balanced) {
		t.Errorf("got balanced %v, want %v%s", !k.balanced, k.balanced, explaintest.Describe(r))
	}
	if k.natural != "" && !slices.ContainsFunc(explaintest.Stragglers(r), func(s string) bool { return strings.HasPrefix(s, k.natural) }) {
		t.Errorf("the report lacks finding %s%s", k.natural, explaintest.Describe(r))
	}
	checkCosts(t, r, readSlow(t, dir))
}

// checkCosts checks that the cost of every straggler is within 10 % of the wait of the other ranks in its steps. Where
// ranks are late in turn within one step, one rank causes only part of the others' wait: its cost then lies between
// their wait where it came last and their total wait.
func checkCosts(t *testing.T, r *result.Report, ranks []*slowRank) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Kind != result.Straggler {
			continue
		}
		wait := func(lastOnly bool) float64 {
			w, _ := othersWait(t, ranks, f.Ranks[0], lastOnly)
			return slowMedian(w[f.FirstStep : f.LastStep+1])
		}
		lo, hi := wait(false), wait(false)
		if slices.ContainsFunc(r.Findings, func(o result.Finding) bool {
			return o.Kind == result.Straggler && o.Ranks[0] != f.Ranks[0] && o.FirstStep <= f.LastStep && f.FirstStep <= o.LastStep
		}) {
			lo = wait(true)
		}
		if slices.ContainsFunc(r.Findings, func(o result.Finding) bool {
			return o.ID != f.ID && o.Kind == result.Straggler && o.Ranks[0] == f.Ranks[0] && o.FirstStep <= f.LastStep && f.FirstStep <= o.LastStep
		}) {
			lo = 0 // the cost is split over several causes
		}
		if c := float64(f.CostNSPerStep); c < 0.9*lo || c > 1.1*hi {
			t.Errorf("%s costs %s a step, want between %s and %s, the wait of the others%s", explaintest.Brief(f), metric.Duration(c), metric.Duration(lo), metric.Duration(hi), explaintest.Describe(r))
		}
	}
}

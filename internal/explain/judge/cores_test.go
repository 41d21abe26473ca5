package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestCoresLack: software devices wait for a core of their machine, on different ranks in different steps. One finding
// reports it, about the machine, and the only straggler is a rank that is late for another reason.
func TestCoresLack(t *testing.T) {
	const steps, period = 40, 2_000_000
	ranks := func(slow bool) (ts []*trace.Trace) {
		for tp := range 4 {
			y := toytrace.New()
			for n := range int64(steps) {
				at := n * period
				late := int(n/5)%4 == tp && n > 2 // its device has no core for 700 µs
				y.Step(at, at+period-100_000)
				corr := y.Launch("cudaGraphLaunch", at+10, at+1000)
				begin, took, all := at+5_000, int64(200_000), int64(900_000)
				if n <= 2 {
					all = 200_000
				}
				if slow && n > 2 {
					all = 1_100_000
				}
				if late {
					y.Span(trace.NoCore, 1, trace.NoCoreName, begin, begin+700_000)
					begin += 700_000
				}
				y.Op(trace.Kernel, "norm", corr, 1, at+1000, at+5_000, 8)
				y.Op(trace.Kernel, "gemm", corr, 1, begin, begin+took, 8)
				begin += took
				if slow && tp == 3 && n > 2 {
					y.Op(trace.Kernel, "more_gemm", corr, 1, begin, at+5_000+all, 8)
					begin = at + 5_000 + all
				}
				y.Op(trace.Kernel, toytrace.AllReduce, corr, 1, begin, at+5_000+all+12_000, 1)
			}
			tr := y.Done()
			tr.Source.Rank.TP = tp
			ts = append(ts, tr)
		}
		return ts
	}
	r := explaintest.Analyzed(t, ranks(false))
	late := r.Findings[slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Kind == result.Straggler }):]
	if late[0].ID != "cores-3" || late[0].Severity != "low" || len(late[0].Ranks) != 0 || !strings.Contains(report.Words(late[0].Title), "TP00, TP01, TP02, TP03") ||
		len(explaintest.Stragglers(r)) != 1 || explaintest.Has(r, result.Balanced) {
		t.Errorf("want one finding cores-3 of low severity about the machine and one straggler%s", explaintest.Describe(r))
	}
	if got := explaintest.Stragglers(explaintest.Analyzed(t, ranks(true)), result.CauseWork); len(got) != 1 || got[0] != "rank 3 work 3-39" {
		t.Errorf("one rank with more work: got %q, want rank 3 work 3-39", got)
	}
	other := ranks(false) // on separate machines it is not a finding about the machine
	for i, tr := range other {
		tr.Source.Host = string(rune('a' + i))
	}
	if r := explaintest.Analyzed(t, other); slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return strings.HasPrefix(f.ID, "cores") }) {
		t.Errorf("ranks on separate machines: got a finding about cores%s", explaintest.Describe(r))
	}
}

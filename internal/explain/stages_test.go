package explain_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestPipelineStages has two stages that compute in turns and send each other their results: a stage that waits for the
// previous one does not transfer meanwhile.
func TestPipelineStages(t *testing.T) {
	const steps, compute, transfer = 12, 1 * ms, 20 * us
	const sendRecv = "ncclDevKernel_SendRecv"
	stages := []*toytrace.Toy{toytrace.New(), toytrace.New()}
	free := []int64{0, 0} // end of each device's work so far
	for n := range int64(steps) {
		at := n * (2*compute + 2*transfer + 100*us)
		for i, y := range stages {
			y.Step(at, at+2*compute)
			corr := y.Launch("cudaGraphLaunch", at+10, at+5*us)
			begins := max(free[i], at+10*us)
			ready := begins // both receive, and then compute
			if i == 1 || n > 0 {
				ready = max(ready, free[1-i])
				y.Op(trace.Kernel, sendRecv, corr, 1, begins, ready+transfer, 1)
				ready += transfer
			}
			y.Op(trace.Kernel, "gemm", corr, 1, ready, ready+compute, 64)
			y.Op(trace.Kernel, sendRecv, corr, 1, ready+compute, ready+compute+transfer, 1)
			free[i] = ready + compute + transfer
		}
	}
	ts := make([]*trace.Trace, 2)
	for i, y := range stages {
		ts[i] = y.Done()
		ts[i].Source.Rank = trace.Rank{TP: 0, PP: i, DP: -1, EP: -1}
		ts[i].Source.World = trace.World{Known: true, Rank: i, Size: 2}
	}
	r := explaintest.Analyzed(t, ts)
	for _, f := range r.Findings {
		title := report.Words(f.Title)
		if f.Kind == result.CommBound && strings.Contains(f.Title.String(), "without_waiting") || f.Kind == result.SlowLink {
			t.Errorf("got waits for the other stage reported as transfer: %s", title)
		}
	}
}

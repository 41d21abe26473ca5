package tables_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestCoresGap: a gap in which no core ran the device is not attributed to an earlier launch of its host.
func TestCoresGap(t *testing.T) {
	y := toytrace.New()
	for at := int64(0); at < 3_000_000; at += 1_000_000 {
		y.Step(at, at+900_000)
		first, second := y.Launch("cudaLaunchKernel", at+10, at+1_000), y.Launch("cudaLaunchKernel", at+1_100, at+2_000)
		y.Op(trace.Kernel, "norm", first, 1, at+1_000, at+5_000, 8)
		y.Span(trace.NoCore, 1, trace.NoCoreName, at+5_000, at+605_000)
		y.Op(trace.Kernel, "gemm", second, 1, at+605_000, at+990_000, 8)
	}
	r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
	for _, g := range r.Gaps[:3] {
		if g.Dur != 600_000 || g.Cause != "host" || report.Words(g.Host) != "no core ran the software device" {
			t.Errorf("got gap %+v, want 600 µs caused by the host: no core ran the software device", g)
		}
	}
	var out strings.Builder
	if err := report.Text(&out, r, report.Options{Full: true}); err != nil || !strings.Contains(strings.ReplaceAll(out.String(), "\n", " "), "host includes time in which no core") {
		t.Error("the idle table does not state that host includes time without a core")
	}
}

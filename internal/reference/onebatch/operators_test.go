package onebatch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/onebatch"
	"github.com/stepscope/stepscope/trace"
)

// TestOperators sums up a trace made by hand. Times are in µs below.
//
//	thread  step ├────────────── 0-100 ──────────────┤
//	        linear   ├── 10-40 ──┤  linear ├ 50-70 ┤
//	        launch        ├20-25┤            ├55-56┤   ├80-81┤
//	stream                 kernel 30-60, kernel 70-90, copy 90-95
func TestOperators(t *testing.T) {
	var tr trace.Trace
	id := func(s string) trace.StringID { return tr.Strings.Intern([]byte(s)) }
	us := int64(1000)
	span := func(name string, cat trace.Category, track trace.TrackID, from, to, corr int64, detail int32) {
		tr.Spans = append(tr.Spans, trace.Span{Name: id(name), Cat: cat, Track: track, Start: from * us, Dur: (to - from) * us, Corr: corr, Detail: detail})
	}
	tr.Tracks = make([]trace.Track, 2)
	tr.Shapes = []trace.Shape{{Dims: id("[[2, 4]]")}, {Dims: id("[[8, 4]]")}}
	tr.Ops = make([]trace.Op, 3)
	span("step[DECODE bs=2]", trace.UserAnnotation, 0, 0, 100, 0, -1)
	span("aten::linear", trace.CPUOp, 0, 10, 40, 0, 0)
	span("cudaLaunchKernel", trace.Runtime, 0, 20, 25, 1, -1)
	span("aten::linear", trace.CPUOp, 0, 50, 70, 0, 1)
	span("cudaLaunchKernel", trace.Runtime, 0, 55, 56, 2, -1)
	span("cudaMemcpyAsync", trace.Runtime, 0, 80, 81, 3, -1)
	span("gemm", trace.Kernel, 1, 30, 60, 1, 0)
	span("gemm", trace.Kernel, 1, 70, 90, 2, 1)
	span("Memcpy HtoD", trace.Memcpy, 1, 90, 95, 3, 2)

	gpu := []onebatch.Operator{
		{Name: "gemm", Device: true, Calls: 2, SelfGPU: 50 * us, GPU: 50 * us},
		{Name: "aten::linear", Shapes: "[[2, 4]]", Calls: 1, SelfCPU: 25 * us, CPU: 30 * us, SelfGPU: 30 * us, GPU: 30 * us},
		{Name: "aten::linear", Shapes: "[[8, 4]]", Calls: 1, SelfCPU: 19 * us, CPU: 20 * us, SelfGPU: 20 * us, GPU: 20 * us},
		{Name: "step[DECODE bs=2]", Calls: 1, SelfCPU: 49 * us, CPU: 100 * us, SelfGPU: 5 * us, GPU: 55 * us},
		{Name: "Memcpy HtoD", Device: true, Calls: 1, SelfGPU: 5 * us, GPU: 5 * us},
		{Name: "cudaLaunchKernel", Calls: 2, SelfCPU: 6 * us, CPU: 6 * us},
		{Name: "cudaMemcpyAsync", Calls: 1, SelfCPU: 1 * us, CPU: 1 * us},
	}
	got := onebatch.Operators(&tr, true)
	if !slices.Equal(got.Rows, gpu) {
		t.Errorf("by device:\n%+v\nwant\n%+v", got.Rows, gpu)
	}
	if got.CPU != 100*us || got.GPU != 55*us {
		t.Errorf("sums %d and %d ns", got.CPU, got.GPU)
	}
	if byCPU := onebatch.Operators(&tr, false).Rows; byCPU[0].Name != "step[DECODE bs=2]" || byCPU[1].Shapes != "[[2, 4]]" {
		t.Errorf("by CPU: %+v", byCPU)
	}
	text := got.String()
	for _, want := range []string{
		"Name  Self CPU %  Self CPU  CPU total %  CPU total  CPU time avg  Self CUDA  Self CUDA %  CUDA total  CUDA time avg  # of Calls  Input Shapes\n",
		"aten::linear      25.00%  25.000us       30.00%   30.000us      30.000us   30.000us       54.55%    30.000us       30.000us           1      [[2, 4]]\n",
		"\nSelf CPU time total: 100.000us\nSelf CUDA time total: 55.000us\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks\n%s\nof\n%s", want, text)
		}
	}
}

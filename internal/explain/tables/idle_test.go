package tables

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestIdle checks the causes of idle time from 100 to 200.
func TestIdle(t *testing.T) {
	for _, c := range []struct {
		name  string
		make  func(y *toytrace.Toy) int64 // host side; returns the correlation of the op that starts at 200
		want  result.Idle
		cause string
	}{
		{"the launch call came late", func(y *toytrace.Toy) int64 { return y.Launch("cudaLaunchKernel", 190, 195) }, result.Idle{Host: 90, Launch: 10}, "host"},
		{"the call itself is long", func(y *toytrace.Toy) int64 { return y.Launch("cudaLaunchKernel", 110, 195) }, result.Idle{Host: 10, Launch: 90}, "launch"},
		{"the call began before the gap", func(y *toytrace.Toy) int64 { return y.Launch("cudaGraphLaunch", 50, 150) }, result.Idle{Launch: 100}, "launch"},
		{"the call ends after the kernel starts", func(y *toytrace.Toy) int64 { return y.Launch("cudaLaunchKernel", 180, 230) }, result.Idle{Host: 80, Launch: 20}, "host"},
		{"launched long before", func(y *toytrace.Toy) int64 { return y.Launch("cudaLaunchKernel", 10, 20) }, result.Idle{Device: 100}, "device"},
		{"a copy requested before, whose call waits for it", func(y *toytrace.Toy) int64 { return y.Launch("hipMemcpyWithStream", 90, 222) }, result.Idle{Device: 100}, "device"},
		{"a copy whose call waits for it", func(y *toytrace.Toy) int64 { return y.Launch("hipMemcpyWithStream", 110, 222) }, result.Idle{Host: 10, Device: 90}, "device"},
		{"no launch recorded", func(*toytrace.Toy) int64 { return 0 }, result.Idle{Unknown: 100}, "unknown"},
		{"blocked in a sync", func(y *toytrace.Toy) int64 {
			y.Span(trace.Runtime, 0, "cudaStreamSynchronize", 90, 170)
			return y.Launch("cudaLaunchKernel", 190, 195)
		}, result.Idle{Host: 20, Sync: 70, Launch: 10}, "sync"},
		{"runtime and driver call of one sync count once", func(y *toytrace.Toy) int64 {
			y.Span(trace.Runtime, 0, "cudaStreamSynchronize", 110, 150)
			y.Span(trace.Driver, 0, "cuStreamSynchronize", 111, 149)
			return y.Launch("cudaLaunchKernel", 190, 195)
		}, result.Idle{Host: 50, Sync: 40, Launch: 10}, "host"},
		{"the profiler's stall", func(y *toytrace.Toy) int64 {
			y.Span(trace.Overhead, 0, "Activity Buffer Request", 120, 180)
			return y.Launch("cudaLaunchKernel", 190, 195)
		}, result.Idle{Host: 30, Profiler: 60, Launch: 10}, "profiler"},
		{"sync under a stall counts as the stall", func(y *toytrace.Toy) int64 {
			y.Span(trace.Overhead, 0, "Activity Buffer Request", 100, 190)
			y.Span(trace.Runtime, 0, "cudaDeviceSynchronize", 100, 190)
			return y.Launch("cudaLaunchKernel", 190, 195)
		}, result.Idle{Profiler: 90, Launch: 10}, "profiler"},
	} {
		y := toytrace.New().Step(0, 300).Run("gemm", 1, 20, 100, 1)
		y.Op(trace.Kernel, "late", c.make(y), 1, 200, 220, 1)
		a := prepared(y.Done())
		pauses := findPauses(a)
		part, gaps := sweep(a.Ranks[0], &pauses[0])[0], Gaps(a, pauses)
		if part.IdleBy != c.want {
			t.Errorf("%s: got idle time %+v, want %+v", c.name, part.IdleBy, c.want)
		}
		if len(gaps) != 1 || gaps[0].Cause != c.cause || gaps[0].Dur != 100 {
			t.Errorf("%s: got gaps %+v, want one of 100 ns by %s", c.name, gaps, c.cause)
		}
	}
	// Queued work reaches an idle device within a millisecond, or waits for something.
	late := toytrace.New().Step(0, 9_000_000).Run("gemm", 1, 20, 100, 1)
	late.Op(trace.Kernel, "late", late.Launch("hipLaunchKernel", 110, 120), 1, 8_000_100, 8_000_200, 1)
	b := prepared(late.Done())
	if got, want := sweep(b.Ranks[0], &findPauses(b)[0])[0].IdleBy, (result.Idle{Host: 10, Launch: 1_000_010, Device: 6_999_980}); got != want {
		t.Errorf("queued for long: got idle time %+v, want %+v", got, want)
	}
	// Inside a graph replay the host does not cause a gap, however long the call.
	y := toytrace.New().Step(0, 300)
	corr := y.Launch("cudaGraphLaunch", 10, 250)
	y.Op(trace.Kernel, "a", corr, 1, 50, 100, 1).Op(trace.Kernel, "b", corr, 1, 200, 220, 1)
	a := prepared(y.Done())
	if got := sweep(a.Ranks[0], &findPauses(a)[0])[0].IdleBy; got != (result.Idle{Device: 100}) {
		t.Errorf("inside a graph: got idle time %+v, want 100 ns by the device", got)
	}
}

// TestSelfTimes nests spans by containment, thread by thread.
func TestSelfTimes(t *testing.T) {
	y := toytrace.New()
	y.Span(trace.CPUOp, 0, "a", 0, 100)
	y.Span(trace.CPUOp, 0, "b", 10, 40)
	y.Span(trace.CPUOp, 0, "c", 20, 30)
	y.Span(trace.CPUOp, 0, "b", 50, 60)
	y.Span(trace.CPUOp, 0, "over", 95, 103) // extends beyond a: clipped to it
	y.Span(trace.CPUOp, 0, "next", 110, 120)
	y.Span(trace.CPUOp, 1, "other", 15, 25) // on another thread
	y.Span(trace.PythonFunction, 0, "frame", 0, 200)
	got := map[string]*result.CPUOp{}
	addUp(got, prep.Trace(y.Done(), nil).Host.Ops, nil)
	for _, want := range []result.CPUOp{
		{Name: "a", Count: 1, Total: 100, Self: 55},
		{Name: "b", Count: 2, Total: 40, Self: 30},
		{Name: "c", Count: 1, Total: 10, Self: 10},
		{Name: "over", Count: 1, Total: 8, Self: 5},
		{Name: "next", Count: 1, Total: 10, Self: 10},
		{Name: "other", Count: 1, Total: 10, Self: 10},
	} {
		if o := got[want.Name]; o == nil || *o != want {
			t.Errorf("op %s: got %+v, want %+v", want.Name, o, want)
		}
	}
	if len(got) != 6 {
		t.Errorf("got %d names, want 6", len(got))
	}
}

package prep

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestFindSteps checks the rules that cut steps and their order.
func TestFindSteps(t *testing.T) {
	note := func(y *toytrace.Toy, name string, start, end int64) *toytrace.Toy {
		y.Span(trace.UserAnnotation, 0, name, start, end)
		return y
	}
	for _, c := range []struct {
		name string
		make func(*toytrace.Toy)
		rule string
		want []Interval
	}{
		{"annotations", func(y *toytrace.Toy) { y.Step(0, 10).Step(12, 20) }, trace.ByAnnotations, []Interval{{0, 10}, {12, 20}}},
		{"nested: the outermost counts", func(y *toytrace.Toy) {
			note(note(note(y, "step[DECODE bs=1]", 0, 10), "draft step[DECODE bs=1]", 2, 4), "step[TARGET_VERIFY bs=1]", 20, 30)
		}, trace.ByAnnotations, []Interval{{0, 10}, {20, 30}}},
		{"a step begins where the previous ends", func(y *toytrace.Toy) { y.Step(0, 10).Step(10, 20) }, trace.ByAnnotations, []Interval{{0, 10}, {10, 20}}},
		{"out of order", func(y *toytrace.Toy) { y.Step(12, 20).Step(0, 10) }, trace.ByAnnotations, []Interval{{0, 10}, {12, 20}}},
		{"scheduler spans are not steps", func(y *toytrace.Toy) { note(y, "scheduler.run_batch", 0, 100).Step(10, 20) }, trace.ByAnnotations, []Interval{{10, 20}}},
		{"forward before ProfilerStep", func(y *toytrace.Toy) { note(y, "ProfilerStep#1", 0, 100).Step(10, 20) }, trace.ByAnnotations, []Interval{{10, 20}}},
		{"ProfilerStep alone", func(y *toytrace.Toy) { note(note(y, "ProfilerStep#1", 0, 100), "ProfilerStep#2", 100, 150) }, trace.ByProfiler, []Interval{{0, 100}, {100, 150}}},
		{"graph launches", func(y *toytrace.Toy) {
			y.Launch("cudaLaunchKernel", 0, 5)
			y.Launch("cudaGraphLaunch", 10, 20)
			y.Launch("cudaLaunchKernel", 30, 35)
			y.Launch("cudaGraphLaunch", 50, 60)
			y.Launch("cudaMemcpyAsync", 70, 90)
		}, trace.ByGraphs, []Interval{{10, 50}, {50, 90}}},
		{"a single graph launch gives no steps", func(y *toytrace.Toy) { y.Launch("cudaGraphLaunch", 10, 20) }, trace.Uncut, nil},
		{"nothing", func(*toytrace.Toy) {}, trace.Uncut, nil},
	} {
		y := toytrace.New()
		c.make(y)
		steps, rule := findSteps(y.Done())
		var got []Interval
		for _, s := range steps {
			got = append(got, Interval{s.Start, s.End})
		}
		if !slices.Equal(got, c.want) || rule != c.rule {
			t.Errorf("%s: got steps %v by %q, want %v by %q", c.name, got, rule, c.want, c.rule)
		}
	}
}

// TestStepsByLaunch assigns work to the step that launched it, not to the one that is current when it runs: under
// overlapped scheduling the device is behind.
func TestStepsByLaunch(t *testing.T) {
	y := toytrace.New().Step(0, 100).Step(100, 200).Run("a", 10, 20, 60, 1).Run("b", 20, 60, 150, 1).Run("c", 110, 150, 300, 1)
	y.Op(trace.Kernel, "unlaunched", 0, 2, 120, 130, 1)
	y.Op(trace.Kernel, "outside", 0, 2, 320, 330, 1)
	r := Trace(y.Done(), nil)
	got := map[string]int32{}
	for i := range r.Ops {
		got[r.Names.List[r.Ops[i].Name]] = r.Ops[i].Step
	}
	for name, want := range map[string]int32{"a": 0, "b": 0, "c": 1, "unlaunched": 1, "outside": -1} {
		if got[name] != want {
			t.Errorf("op %s: got step %d, want %d", name, got[name], want)
		}
	}
	if r.Unlaunched != 2 {
		t.Errorf("got %d ops without a launch, want 2", r.Unlaunched)
	}
}

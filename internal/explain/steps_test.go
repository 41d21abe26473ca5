package explain

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// TestFindSteps holds the rules that cut steps and their order.
func TestFindSteps(t *testing.T) {
	note := func(y *toy, name string, start, end int64) *toy {
		y.span(trace.UserAnnotation, 0, name, start, end)
		return y
	}
	for _, c := range []struct {
		name string
		make func(*toy)
		rule string
		want []interval
	}{
		{"annotations", func(y *toy) { y.step(0, 10).step(12, 20) }, trace.ByAnnotations, []interval{{0, 10}, {12, 20}}},
		{"nested: the outermost counts", func(y *toy) {
			note(note(note(y, "step[DECODE bs=1]", 0, 10), "draft step[DECODE bs=1]", 2, 4), "step[TARGET_VERIFY bs=1]", 20, 30)
		}, trace.ByAnnotations, []interval{{0, 10}, {20, 30}}},
		{"begins where the last ends", func(y *toy) { y.step(0, 10).step(10, 20) }, trace.ByAnnotations, []interval{{0, 10}, {10, 20}}},
		{"in disorder", func(y *toy) { y.step(12, 20).step(0, 10) }, trace.ByAnnotations, []interval{{0, 10}, {12, 20}}},
		{"scheduler spans are no steps", func(y *toy) { note(y, "scheduler.run_batch", 0, 100).step(10, 20) }, trace.ByAnnotations, []interval{{10, 20}}},
		{"forward before ProfilerStep", func(y *toy) { note(y, "ProfilerStep#1", 0, 100).step(10, 20) }, trace.ByAnnotations, []interval{{10, 20}}},
		{"ProfilerStep alone", func(y *toy) { note(note(y, "ProfilerStep#1", 0, 100), "ProfilerStep#2", 100, 150) }, trace.ByProfiler, []interval{{0, 100}, {100, 150}}},
		{"graph launches", func(y *toy) {
			y.launch("cudaLaunchKernel", 0, 5)
			y.launch("cudaGraphLaunch", 10, 20)
			y.launch("cudaLaunchKernel", 30, 35)
			y.launch("cudaGraphLaunch", 50, 60)
			y.launch("cudaMemcpyAsync", 70, 90)
		}, trace.ByGraphs, []interval{{10, 50}, {50, 90}}},
		{"one graph launch is no rhythm", func(y *toy) { y.launch("cudaGraphLaunch", 10, 20) }, trace.Uncut, nil},
		{"nothing", func(*toy) {}, trace.Uncut, nil},
	} {
		y := newToy()
		c.make(y)
		steps, rule := findSteps(y.done())
		var got []interval
		for _, s := range steps {
			got = append(got, interval{s.start, s.end})
		}
		if !slices.Equal(got, c.want) || rule != c.rule {
			t.Errorf("%s: %v by %q, want %v by %q", c.name, got, rule, c.want, c.rule)
		}
	}
}

// TestStepsByLaunch assigns work to the step that launched it, not to the one
// that runs while it does: under overlapped scheduling the device is behind.
func TestStepsByLaunch(t *testing.T) {
	y := newToy().step(0, 100).step(100, 200).run("a", 10, 20, 60, 1).run("b", 20, 60, 150, 1).run("c", 110, 150, 300, 1)
	y.op(trace.Kernel, "unlaunched", 0, 2, 120, 130, 1)
	y.op(trace.Kernel, "outside", 0, 2, 320, 330, 1)
	names := newNames(kernel.Default())
	r := prepare(0, y.done(), names)
	got := map[string]int32{}
	for i := range r.ops {
		got[names.list[r.ops[i].name]] = r.ops[i].step
	}
	for name, want := range map[string]int32{"a": 0, "b": 0, "c": 1, "unlaunched": 1, "outside": -1} {
		if got[name] != want {
			t.Errorf("%s belongs to step %d, want %d", name, got[name], want)
		}
	}
	if r.unlaunched != 2 {
		t.Errorf("%d ops without a launch, want 2", r.unlaunched)
	}
}

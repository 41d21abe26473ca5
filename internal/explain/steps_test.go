package explain

import (
	"fmt"
	"slices"
	"testing"

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
	r := prepared(y.done()).ranks[0]
	got := map[string]int32{}
	for i := range r.ops {
		got[r.t.Strings.Get(r.t.Spans[r.ops[i].span].Name)] = r.ops[i].step
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

// TestKindsOfRanks has ranks that do different things in one step, as with
// data-parallel attention: the step is of the heavier kind, the times of each
// rank of its own.
func TestKindsOfRanks(t *testing.T) {
	rank := func(names ...string) *trace.Trace {
		y := newToy()
		for n, name := range names {
			at := int64(n) * 1000
			y.span(trace.UserAnnotation, 0, name, at, at+900)
			y.run("gemm", at+10, at+30, at+500, 1)
		}
		return y.done()
	}
	r := analyzed(t, []*trace.Trace{
		rank("step[IDLE bs=0]", "step[DECODE bs=4]", "step[DECODE bs=4]"),
		rank("step[EXTEND bs=1 toks=9]", "step[IDLE bs=0]", "step[DECODE bs=2]"),
	})
	for n, want := range []string{"prefill step[EXTEND bs=1 toks=9] 1 9", "decode step[DECODE bs=4] 4 4", "decode step[DECODE bs=4] 4 4"} {
		s := r.Steps[n]
		if got := fmt.Sprintf("%s %s %d %d", s.Kind, s.Name, s.Batch, s.Tokens); got != want {
			t.Errorf("step %d: %s, want %s", n, got, want)
		}
	}
	var rows []string
	for _, row := range r.Times {
		rows = append(rows, fmt.Sprintf("%s %s %d", row.Rank, row.Kind, row.Steps))
	}
	if want := []string{"all all 6", "all decode 3", "all idle 2", "all prefill 1", "rank 0 all 3"}; !contains(rows, want) {
		t.Errorf("times %q, want %q among them", rows, want)
	}
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

func TestStretches(t *testing.T) {
	for _, c := range []struct {
		yes   string
		least int
		want  []stretch
	}{
		{"", 2, nil},
		{"......", 2, nil},
		{"..xx..", 2, []stretch{{2, 3}}},
		{"..x...", 2, nil},
		{"..x...", 1, []stretch{{2, 2}}},
		{"xxxxxx", 2, []stretch{{0, 5}}},
		{"....xxxx", 2, []stretch{{4, 7}}},
		{"..xxx.xxx", 2, []stretch{{2, 8}}},                  // an isolated gap does not divide
		{"x..xxxxx", 2, []stretch{{3, 7}}},                   // nor does an isolated yes before it count
		{"xxx......xxx", 2, []stretch{{0, 2}, {9, 11}}},      // far apart
		{"xx.x.x.xx", 2, []stretch{{0, 8}}},                  // mostly yes
		{"x.x.x.x.x", 2, nil},                                // every other step is no stretch
		{"xx...xx.xx", 2, []stretch{{0, 1}, {5, 9}}},         //
		{"xxxx.xx..x", 2, []stretch{{0, 6}}},                 // the tail does not pay
		{".xxxxxx.....xxxxxxx.", 3, []stretch{{1, 18}}},      // two long ones over a shorter gap
		{".xxx.....xxxxxxx.", 3, []stretch{{1, 3}, {9, 15}}}, // the gap is longer than the first
		{"xxxxx....................xxx", 3, []stretch{{0, 4}, {25, 27}}},
	} {
		yes := make([]bool, len(c.yes))
		for i := range yes {
			yes[i] = c.yes[i] == 'x'
		}
		if got := stretches(yes, c.least); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.yes, got, c.want)
		}
	}
}

// TestStretchesMaximal holds the segments against their definition (Ruzzo and
// Tompa): every proper beginning and end of a segment has a positive sum, and
// of all such segments they are the longest. Brute force on all short series.
func TestStretchesMaximal(t *testing.T) {
	const n = 11
	for bits := range 1 << n {
		yes := make([]bool, n)
		sum := make([]int, n+1)
		for i := range yes {
			yes[i] = bits>>i&1 == 1
			sum[i+1] = sum[i] - 1
			if yes[i] {
				sum[i+1] = sum[i] + 1
			}
		}
		positive := func(a, b int) bool { // [a, b)
			for i := a + 1; i <= b; i++ {
				if sum[i] <= sum[a] || sum[b] <= sum[i-1] {
					return false
				}
			}
			return true
		}
		var want []stretch
		for a := range n {
			for b := n; b > a; b-- {
				if !positive(a, b) {
					continue
				}
				if k := len(want) - 1; k < 0 || b-1 > want[k].last {
					want = append(want, stretch{a, b - 1})
				}
				break
			}
		}
		want = slices.DeleteFunc(want, func(s stretch) bool { return sum[s.last+1]-sum[s.first] < 2 })
		if got := stretches(yes, 2); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", yes, got, want)
		}
	}
}

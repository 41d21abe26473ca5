package explain_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
	"github.com/stepscope/stepscope/trace"
)

// nameless removes the names of all host marks, leaving only launches and GPU work, as in a GPU-only window.
func nameless(ts []*trace.Trace) []*trace.Trace {
	for _, t := range ts {
		t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool {
			return !s.Cat.OnGPU() && !s.Cat.Launch() && s.Cat != trace.Window
		})
	}
	return ts
}

// stepsOfKernels returns the step of each kernel in steps, by its index among the trace's GPU work, with the kinds of
// the steps and the rule.
func stepsOfKernels(t *trace.Trace) (steps map[int32]int32, kinds []trace.StepKind, rule string) {
	r := prep.Trace(t, nil)
	steps = map[int32]int32{}
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Cat == trace.Kernel {
			steps[t.Spans[o.Span].Detail] = o.Step
		}
	}
	for i := range r.Steps {
		kinds = append(kinds, r.Steps[i].Info.Kind)
	}
	return steps, kinds, r.Rule
}

// patternSets returns the sets with named steps, and the rule found without names.
func patternSets(t *testing.T) map[string]string {
	sets := map[string]string{}
	for _, name := range []string{"graphs", "graph_work", "balanced", "stacks", "compute_skew", "g_mixed", "g_device_r1", "sglang_shared", "sglang_stops"} {
		sets[filepath.Join(explaintest.Traces, name)] = trace.ByPattern
	}
	if root := os.Getenv("STEPSCOPE_DATA"); root != "" {
		for name, rule := range map[string]string{
			"sglang_plain": trace.ByPattern, "sglang_moe": trace.ByPattern,
			"sglang_stack": trace.Uncut, // two passes do not repeat
			"sglang_stage": trace.Uncut, // one pass, of 24 graphs
		} {
			sets[filepath.Join(root, "traces", name)] = rule
		}
	}
	return sets
}

// TestPatternIsRight: without names, each kernel of a step is in the step with the same number, and the steps have the
// same kinds.
func TestPatternIsRight(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for dir, want := range patternSets(t) {
		truth := explaintest.ReadDir(t, dir)
		for i, bare := range nameless(explaintest.ReadDir(t, dir)) {
			in, kinds, _ := stepsOfKernels(truth[i])
			found, foundKinds, rule := stepsOfKernels(bare)
			if rule != want {
				t.Errorf("%s, rank %d: got steps by %s, want %s", dir, i, rule, want)
			}
			if rule == trace.Uncut {
				continue
			}
			if !slices.Equal(foundKinds, kinds) {
				t.Errorf("%s, rank %d: got step kinds %v, want %v", dir, i, foundKinds, kinds)
			}
			wrong := 0
			for op, step := range in {
				if step >= 0 && found[op] != step {
					wrong++
				}
			}
			if wrong > 0 {
				t.Errorf("%s, rank %d: %d of %d kernels are in another step", dir, i, wrong, len(in))
			}
		}
	}
}

// TestPatternFindings: the findings without names equal those with names.
func TestPatternFindings(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for dir, rule := range patternSets(t) {
		// In the first set the host is late only in its last step, which then holds other launches.
		if rule != trace.ByPattern || strings.HasSuffix(dir, "sglang_moe") {
			continue
		}
		want, got := explaintest.Stragglers(explaintest.Analyzed(t, explaintest.ReadDir(t, dir))), explaintest.Analyzed(t, nameless(explaintest.ReadDir(t, dir)))
		if !slices.Equal(explaintest.Stragglers(got), want) || got.Source.StepRule != trace.ByPattern {
			t.Errorf("%s: got %q late, want %q%s", dir, explaintest.Stragglers(got), want, explaintest.Describe(got))
		}
	}
}

// TestPatternOfReport: a report without ranges has the passes given by its markers, except the one cut by the start of
// the window.
func TestPatternOfReport(t *testing.T) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		t.Skip("STEPSCOPE_DATA is not set: the directory with nsys/sglang_layerwise.sqlite")
	}
	read := func() []*trace.Trace {
		ts, err := nsysdb.Read(context.Background(), filepath.Join(root, "nsys", "sglang_layerwise.sqlite"), nsysdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	marked := read()
	for i, bare := range nameless(read()) {
		want, wantKinds, _ := stepsOfKernels(marked[i])
		got, kinds, rule := stepsOfKernels(bare)
		wrong := 0
		for op, step := range want {
			if step >= 0 && got[op] != step {
				wrong++
			}
		}
		if wrong > 0 || rule != trace.ByPattern || len(kinds) != len(wantKinds) {
			t.Errorf("rank %d: got %d steps by %s, want %d; %d of %d kernels are in other steps", i, len(kinds), rule, len(wantKinds), wrong, len(want))
		}
		for n, k := range kinds {
			if k != wantKinds[n] && k != trace.OtherStep {
				t.Errorf("rank %d, step %d: got kind %s, want %s", i, n, k, wantKinds[n])
			}
		}
	}
}

// TestPatternLosses: missing data reduces the number of steps, possibly to none, but never merges kernels of two steps
// into one.
func TestPatternLosses(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for _, set := range []string{"balanced", "graphs", "sglang_shared"} {
		for _, c := range []struct {
			name string
			lose func(t *trace.Trace)
			want []string // rules
		}{
			{"the beginning", func(t *trace.Trace) {
				passes, _ := trace.Passes(t)
				dropLaunches(t, func(s *trace.Span) bool { return s.Start < (passes[3].Start+passes[3].End)/2 })
			}, []string{trace.ByPattern}},
			{"the end", func(t *trace.Trace) {
				passes, _ := trace.Passes(t)
				dropLaunches(t, func(s *trace.Span) bool { return s.Start >= (passes[8].Start+passes[8].End)/2 })
			}, []string{trace.ByPattern}},
			{"all launches", func(t *trace.Trace) {
				t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat.Launch() })
			}, []string{trace.ByPattern}},
			{"a third of the launches", func(t *trace.Trace) {
				random := rand.New(rand.NewSource(1))
				t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat.Launch() && random.Intn(3) == 0 })
			}, []string{trace.Uncut}},
			{"the choice of tokens", func(t *trace.Trace) {
				t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return strings.Contains(t.Strings.Get(s.Name), "ArgMax") })
			}, []string{trace.Uncut, trace.ByGraphs}},
		} {
			t.Run(set+" without "+c.name, func(t *testing.T) {
				truth, lossy := explaintest.RealSet(t, set)[0], explaintest.RealSet(t, set)[0]
				c.lose(lossy)
				nameless([]*trace.Trace{lossy})
				in, _, _ := stepsOfKernels(truth)
				found, kinds, rule := stepsOfKernels(lossy)
				if !slices.Contains(c.want, rule) {
					t.Errorf("got %d steps by %s, want a rule of %v", len(kinds), rule, c.want)
				}
				if rule == trace.Uncut {
					return
				}
				of := map[int32]map[int32]int{} // found step -> true steps of its kernels
				for op, step := range found {
					if step >= 0 && in[op] >= 0 {
						if of[step] == nil {
							of[step] = map[int32]int{}
						}
						of[step][in[op]]++
					}
				}
				for step, all := range of {
					most, sum := 0, 0
					for _, n := range all {
						most, sum = max(most, n), sum+n
					}
					// Work that prepares a pass is launched before its graph.
					if other := sum - most; other > 0 && (rule != trace.ByGraphs || 20*other > sum) {
						t.Errorf("step %d by %s mixes kernels of steps %v", step, rule, all)
					}
				}
			})
		}
	}
}

// dropLaunches removes launches with the work they started.
func dropLaunches(t *trace.Trace, drop func(*trace.Span) bool) {
	gone := map[int64]bool{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.Launch() && drop(s) {
			gone[s.Corr] = true
		}
	}
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return (s.Cat.Launch() || s.Cat.OnGPU()) && gone[s.Corr] })
}

// TestPatternRefuses: repetition other than forward passes gives no steps.
func TestPatternRefuses(t *testing.T) {
	pass := func(y *toytrace.Toy, at int64, kernels int, end string) int64 {
		for i := range kernels {
			y.Run(fmt.Sprintf("k%d", i), at, at+20, at+30, 1)
			at += 40
		}
		y.Run(end, at, at+20, at+30, 1)
		return at + 40
	}
	for _, c := range []struct {
		name  string
		sizes []int
		end   string
		want  int
	}{
		{"passes", []int{40, 40, 40, 40}, "argmax_kernel", 4},
		{"passes of a pipeline stage", []int{40, 40, 40, 40}, "ncclDevKernel_SendRecv(x)", 4},
		{"too few passes", []int{40, 40}, "argmax_kernel", 0},
		{"all lengths differ", []int{40, 50, 60, 70, 80}, "argmax_kernel", 0},
		{"some passes far smaller", []int{40, 9, 40, 9, 40, 40}, "argmax_kernel", 0},
		{"few kernels per pass", []int{4, 4, 4, 4, 4, 4}, "argmax_kernel", 0},
		{"no token chosen", []int{40, 40, 40, 40}, "copy", 0},
		{"experts chosen in every layer", []int{40, 40, 40, 40}, "topkGatingSoftmax", 0},
	} {
		y := toytrace.New()
		at := int64(0)
		for _, n := range c.sizes {
			at = pass(y, at, n, c.end)
		}
		if passes, rule := trace.Passes(y.Done()); len(passes) != c.want {
			t.Errorf("%s: got %d passes by %s, want %d", c.name, len(passes), rule, c.want)
		}
	}
}

// TestPrefillOfGPUOnly reduces captures to calls and GPU work, as in windows without CPU activities: their prefill is
// still a step, before those that replay graphs.
func TestPrefillOfGPUOnly(t *testing.T) {
	for set, prefills := range map[string]int{"graphs": 1, "g_mixed": 2, "g_device_r1": 1} {
		t.Run(set, func(t *testing.T) {
			want := explaintest.Analyzed(t, explaintest.RealSet(t, set))
			ts := retime.Copy(explaintest.RealSet(t, set))
			for _, tr := range ts {
				tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool {
					return !s.Cat.OnGPU() && !s.Cat.Launch() && s.Cat != trace.Window
				})
			}
			r := explaintest.Analyzed(t, ts)
			eager := 0 // steps without graphs that have as many kernels as a prefill
			for _, s := range r.Steps {
				if s.Ranks[0].Graphs == 0 && 2*s.Ranks[0].Kernels > want.Steps[0].Ranks[0].Kernels {
					eager++
				}
			}
			if eager == 0 || eager > prefills {
				t.Errorf("got %d prefill steps before the replays, want %d: the first steps are %s and %s of %d%s", eager, prefills, r.Steps[0].Name, r.Steps[1].Name, len(r.Steps), explaintest.Describe(r))
			}
		})
	}
}

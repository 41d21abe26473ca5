package judge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestHealthyHaveNoColdStart: loading and allocation in captures of warm servers cost their steps almost nothing.
func TestHealthyHaveNoColdStart(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(explaintest.Traces, "*"))
	for _, dir := range dirs {
		if r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir)); explaintest.Has(r, result.ColdStart) {
			t.Errorf("%s: got a cold start, want none%s", dir, explaintest.Describe(r))
		}
	}
}

// TestCompiled: the finding names a kernel that Triton compiles in a step, with the ranks, the step and the cost, and
// explains why the step is slow. A host that stalls before a kernel that ran earlier has no cold start.
func TestCompiled(t *testing.T) {
	for _, c := range []struct {
		set   string
		step  int
		ranks []int
		ns    int64
	}{
		{"balanced", 6, []int{2}, 440 * ms},
		{"balanced", 6, []int{0, 1, 2, 3}, 440 * ms},
		{"compute_skew", 5, []int{0}, 60 * ms},
		{"compute_skew", 10, []int{1, 3}, 440 * ms},
	} {
		t.Run(fmt.Sprintf("%s step %d ranks %v %d ms", c.set, c.step, c.ranks, c.ns/ms), func(t *testing.T) {
			ts, name := explaintest.Compiled(t, c.set, c.step, c.ns, true, c.ranks...)
			r := explaintest.Analyzed(t, ts)
			explaintest.CheckSentences(t, r)
			cold := explaintest.Said(r, result.ColdStart)
			if len(cold) != 1 {
				t.Fatalf("got %d cold starts, want 1%s", len(cold), explaintest.Describe(r))
			}
			f := cold[0]
			if f.FirstStep != c.step || !slices.Equal(f.Ranks, c.ranks) || f.CostNSPerStep < c.ns*9/10 || f.CostNSPerStep > c.ns*11/10 {
				t.Errorf("got step %d, ranks %v, %d ns, want step %d, ranks %v, %d ns: %s", f.FirstStep, f.Ranks, f.CostNSPerStep, c.step, c.ranks, c.ns, report.Words(f.Title))
			}
			if words := report.Words(f.Title); !strings.Contains(words, "Triton compiled a kernel before the launch of "+kernel.Short(name)) {
				t.Errorf("got title %q, want kernel %s named", words, name)
			}
			for _, s := range explaintest.Said(r, result.SlowStep) {
				if s.FirstStep == c.step && !strings.Contains(report.Words(s.Title), "a cold start, Triton compiled a kernel") {
					t.Errorf("got slow step %q, want the cold start as its reason", report.Words(s.Title))
				}
			}
			if c.ns > 100*ms && !slices.ContainsFunc(explaintest.Said(r, result.SlowStep), func(s result.Finding) bool { return s.FirstStep == c.step }) {
				t.Errorf("the step with the cold start is not reported slow%s", explaintest.Describe(r))
			}
			ts, _ = explaintest.Compiled(t, c.set, c.step, c.ns, false, c.ranks...)
			if r := explaintest.Analyzed(t, ts); explaintest.Has(r, result.ColdStart) {
				t.Errorf("got a cold start without any record of it%s", explaintest.Describe(r))
			}
		})
	}
}

// TestFirstLaunch: without a record of the host's activity, a first launch that takes far longer than later ones is a
// cold start; but not if another rank's first launch in the same step took no longer than usual.
func TestFirstLaunch(t *testing.T) {
	rank := func(first int64) *trace.Trace {
		y := toytrace.New()
		for n := range int64(8) {
			at := n * 1300 * us
			end := at + 1250*us
			if n > 4 {
				at += 40 * ms
			}
			if n >= 4 {
				end += 40 * ms
			}
			begin := at
			for k := range 20 {
				name := "gemm"
				if k%5 == 4 && n >= 4 {
					name = "_new_kernel"
					if n == 4 && k == 4 {
						at += first
					}
				}
				at += 50 * us
				y.Run(name, at, at+10*us, at+30*us, 1)
			}
			y.Run(toytrace.AllReduce, at+50*us, at+60*us, end, 1)
			y.Step(begin, at+100*us)
		}
		return y.Done()
	}
	for _, c := range []struct {
		name string
		ts   []*trace.Trace
		want bool
	}{
		{"one rank", []*trace.Trace{rank(40 * ms)}, true},
		{"both", []*trace.Trace{rank(40 * ms), rank(38 * ms)}, true},
		{"one of two", []*trace.Trace{rank(40 * ms), rank(0)}, false},
		{"none", []*trace.Trace{rank(0), rank(0)}, false},
	} {
		for i := range c.ts {
			c.ts[i].Source.Rank.TP = i
			c.ts[i].Source.Path = fmt.Sprint("rank", i)
		}
		r, err := explain.Analyze(c.ts, explain.Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		got := explaintest.Said(r, result.ColdStart)
		if len(got) > 0 != c.want || c.want && (got[0].FirstStep != 4 || !strings.Contains(report.Words(got[0].Title), "_new_kernel")) {
			t.Errorf("%s: got %d cold starts, want one: %v%s", c.name, len(got), c.want, explaintest.Describe(r))
		}
	}
}

// TestGapInEveryStep: a host gap at the same place of every step is no cold start.
func TestGapInEveryStep(t *testing.T) {
	for _, f := range explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join("testdata", "gap_in_every_step"))).Findings {
		if f.Kind == result.ColdStart {
			t.Errorf("got cold start %s, want none", explaintest.Brief(f))
		}
	}
}

// TestOverheadKinds reads a file as libkineto writes it, with each kind of overhead that CUPTI knows in a gap of 20 ms
// in a step of its own, and checks the cause of each gap.
func TestOverheadKinds(t *testing.T) {
	kinds := []struct{ name, cause string }{
		{"Unknown", "profiler"},
		{"Driver Compiler", "host"},
		{"Buffer Flush", "profiler"},
		{"Instrumentation", "profiler"},
		{"Resource", "profiler"},
		{"Runtime Triggered Module Loading", "host"},
		{"Lazy Function Loading", "host"},
		{"Command Buffer Full", "device"},
		{"Activity Buffer Request", "profiler"},
		{"Unrecognized", "profiler"},
	}
	var b strings.Builder
	b.WriteString(`{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":0,"world_size":1},"traceEvents":[`)
	event := func(cat, name string, pid, tid, ts, dur int, args string) {
		fmt.Fprintf(&b, `{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":%d,"args":{%s}},`+"\n", cat, name, pid, tid, ts, dur, args)
	}
	for i, k := range kinds {
		at := 1_000_000 + i*30_000 // µs
		event("user_annotation", "step[DECODE bs=1]", 7, 7, at, 29_000, "")
		event("overhead", k.name, -1, 0, at+2_000, 20_000, "")
		for j, call := range []int{at, at + 22_100} {
			corr := 2*i + j + 1
			event("cuda_runtime", "cudaLaunchKernel", 7, 7, call, 10, fmt.Sprintf(`"correlation":%d`, corr))
			event("kernel", "gemm", 0, 7, call+20, 1_000+j*5_000, fmt.Sprintf(`"correlation":%d,"device":0,"stream":7,"grid":[1,1,1],"block":[32,1,1]`, corr))
		}
	}
	b.WriteString(`{"ph":"i","name":"Record Window End","ts":2000000,"s":"g","pid":"","tid":""}]}`)
	file := filepath.Join(t.TempDir(), "1763750000-TP-0.trace.json")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, file))
	for i, k := range kinds {
		at := slices.IndexFunc(r.Gaps, func(g result.Gap) bool { return g.Step == i && g.Dur > 20*ms })
		if at < 0 || r.Gaps[at].Cause != k.cause {
			t.Errorf("%s: got gaps %+v, want one caused by %s", k.name, r.Gaps, k.cause)
		}
	}
	var cold []int
	for _, f := range explaintest.Said(r, result.ColdStart) {
		cold = append(cold, f.FirstStep)
	}
	if slices.Sort(cold); !slices.Equal(cold, []int{1, 5, 6}) {
		t.Errorf("got cold starts in steps %v, want the steps with loading or compiling%s", cold, explaintest.Describe(r))
	}
}

// TestCompiledForReal is a capture of SGLang in which Triton compiled a kernel between two steps, as one rank's Python
// stacks show.
func TestCompiledForReal(t *testing.T) {
	root := os.Getenv("STEPSCOPE_DATA")
	if root == "" {
		t.Skip("STEPSCOPE_DATA is not set")
	}
	r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(root, "traces", "sglang_moe")))
	cold := explaintest.Said(r, result.ColdStart)
	if len(cold) != 1 || cold[0].FirstStep != 7 || cold[0].CostNSPerStep < 180*ms || !strings.Contains(report.Words(cold[0].Title), "write_req_to_token_pool_triton") {
		t.Fatalf("want one cold start: Triton compiled write_req_to_token_pool_triton for 187 ms in step 7%s", explaintest.Describe(r))
	}
	checkPlaces(t, r)
	if at := cold[0].At; at.Start != 69_162_413 || at.End != 256_022_261 || at.Track != "1749" {
		t.Errorf("got %+v, want the time of _do_compile in the file", at)
	}
}

// checkPlaces checks that the interval of each finding lies in the times of its steps, and that links lead to it.
func checkPlaces(t *testing.T, r *result.Report) {
	t.Helper()
	shown := report.NewOverview(report.Plain(r))
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.At.Known() {
			if f.FirstStep >= 0 {
				t.Errorf("%s has steps but no interval", f.ID)
			}
			continue
		}
		part := func(n int) (p *result.StepRank) {
			for k := range r.Steps[n].Ranks {
				if p = &r.Steps[n].Ranks[k]; p.Rank == f.At.Rank {
					return p
				}
			}
			t.Fatalf("%s: rank %d does not have step %d", f.ID, f.At.Rank, n)
			return nil
		}
		first, last := part(f.FirstStep), part(f.LastStep)
		if f.At.Start < first.Start || f.At.End > last.Start+last.Period || len(f.Ranks) > 0 && !slices.Contains(f.Ranks, f.At.Rank) {
			t.Errorf("%s: interval %+v is outside of its steps, %d to %d", f.ID, f.At, first.Start, last.Start+last.Period)
		}
		o := &shown.Findings[i]
		if length := f.At.End - f.At.Start; f.FirstStep == f.LastStep && (o.At == nil || o.At.Rank != f.At.Rank || o.At.From != f.At.Start-length/10 || o.At.To != f.At.End+length/10) {
			t.Errorf("%s: the viewer shows %+v, want %+v with margins", f.ID, o.At, f.At)
		}
		for _, e := range o.Evidence {
			if e.Kernel && strings.Contains(e.Name, ".py(") {
				t.Errorf("%s: %s has a link to kernels", f.ID, e.Name)
			}
		}
	}
}

// TestPlaceOfColdStart: a compilation between two steps belongs to the step before it, which contains its time. Without
// the compilation there is no cold start.
func TestPlaceOfColdStart(t *testing.T) {
	const frame = "triton/runtime/jit.py(826): _do_compile"
	for _, c := range []struct {
		name       string
		start, end int64 // of the compilation, µs after the start of step 4; step 5 begins after 41 ms
		step       int
		ahead      bool
	}{
		{"between steps", 700, 40_700, 4, true},
		{"in the step", 70, 40_070, 4, false},
		{"in the next step", 41_050, 81_050, 5, false},
		{"none", 0, 0, -1, false},
	} {
		y := toytrace.New()
		for n := range int64(8) {
			at := n * 1000 * us
			if n > 4 && c.step >= 0 {
				at += 40 * ms
			}
			begin, end := at, at+600*us
			if n == int64(c.step) && !c.ahead {
				at, end = at+40*ms, end+40*ms
			}
			if n > 5 && c.step == 5 {
				begin, at, end = begin+40*ms, at+40*ms, end+40*ms
			}
			y.Run("gemm", begin+10*us, begin+20*us, begin+40*us, 1)
			y.Run("silu", at+150*us, at+160*us, at+500*us, 1)
			y.Step(begin, end)
		}
		if c.step >= 0 {
			y.Span(trace.PythonFunction, 0, frame, 4*ms+c.start*us, 4*ms+c.end*us)
		}
		r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
		checkPlaces(t, r)
		cold := explaintest.Said(r, result.ColdStart)
		if len(cold) != min(c.step+1, 1) {
			t.Fatalf("%s: got %d cold starts%s", c.name, len(cold), explaintest.Describe(r))
		}
		if len(cold) == 0 {
			continue
		}
		f := cold[0]
		if f.FirstStep != c.step || f.At.Span != frame || f.At.Track != "1" || f.At.End-f.At.Start != 40*ms {
			t.Errorf("%s: got step %d, at %+v, want step %d", c.name, f.FirstStep, f.At, c.step)
		}
		if words := report.Words(f.Title); strings.Contains(words, "before step 5") != c.ahead {
			t.Errorf("%s: got title %q", c.name, words)
		}
	}
}

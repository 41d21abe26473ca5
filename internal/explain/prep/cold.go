package prep

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Kinds of one-time work.
const (
	ColdTriton     = "triton"     // Triton compiles or tunes a kernel
	ColdTorch      = "torch"      // torch.compile compiles or tunes
	ColdBuild      = "build"      // a library compiles code
	ColdLoad       = "load"       // the driver loads or compiles code
	ColdHeuristics = "heuristics" // a library chooses its kernel
	ColdAllocation = "allocation" // allocation of device memory
	ColdFirst      = "first"      // a kernel's first launch took far longer than later launches, for no known reason
)

// Cold is an interval in which a launching thread did one-time work.
type Cold struct {
	Interval
	Why   string
	Name  string // name of the frame, op, call or overhead that shows the work
	Call  int32  // index in Calls of the launch that was held up; -1: none
	Step  int32  // step whose period contains the middle of the work, or the next step; -1: none
	Like  int64  // for ColdFirst, the median host time of later launches
	Track trace.TrackID
}

// coldFrames lists Python functions that run only on first use, identified by the end of the file path and the
// beginning of the function name.
var coldFrames = []struct{ file, function, why string }{
	{"triton/runtime/jit.py", "_do_compile", ColdTriton},
	{"triton/compiler/compiler.py", "compile", ColdTriton},
	{"triton/compiler/compiler.py", "_init_handles", ColdTriton},
	{"triton/runtime/autotuner.py", "_bench", ColdTriton},
	{"triton/runtime/autotuner.py", "benchmark", ColdTriton},
	{"torch/_dynamo/convert_frame.py", "", ColdTorch},
	{"torch/_inductor/compile_fx.py", "compile_fx", ColdTorch},
	{"torch/_inductor/compile_fx.py", "_compile_fx", ColdTorch},
	{"torch/_inductor/compile_fx.py", "fx_codegen_and_compile", ColdTorch},
	{"torch/_inductor/async_compile.py", "", ColdTorch},
	{"torch/_inductor/graph.py", "compile_to", ColdTorch},
	{"torch/_inductor/runtime/triton_heuristics.py", "precompile", ColdTorch},
	{"torch/_inductor/runtime/triton_heuristics.py", "_precompile", ColdTorch},
	{"torch/_inductor/runtime/triton_heuristics.py", "autotune_to_one_config", ColdTorch},
	{"torch/_inductor/runtime/triton_heuristics.py", "benchmark_all_configs", ColdTorch},
	{"torch/_inductor/runtime/triton_heuristics.py", "coordinate_descent_tuning", ColdTorch},
	{"torch/utils/cpp_extension.py", "_jit_compile", ColdBuild},
	{"flashinfer/jit/core.py", "build", ColdBuild},
	{"deep_gemm/jit/compiler.py", "build", ColdBuild},
	{"tilelang/jit/__init__.py", "compile", ColdBuild},
}

// coldNames lists substrings of the names of ops and API calls. coldCalls lists substrings of the names of API calls
// only.
var (
	coldNames = []coldName{
		{"(dynamo_timed)", ColdTorch}, // torch.compile's name for its phases
		{"entire_frame_compile", ColdTorch},
		{"AlgoGetHeuristic", ColdHeuristics},
		{"cudnnFind", ColdHeuristics},
		{"miopenFind", ColdHeuristics},
	}
	coldCalls = []coldName{
		{"ModuleLoad", ColdLoad},
		{"LibraryLoad", ColdLoad},
		{"cuLink", ColdLoad},
		{"MallocAsync", ""}, // these three allocate from a pool: no one-time work
		{"AllocAsync", ""},
		{"PoolAsync", ""},
		{"cudaMalloc", ColdAllocation},
		{"cuMemAlloc", ColdAllocation},
		{"cuMemCreate", ColdAllocation},
		{"hipMalloc", ColdAllocation},
	}
)

type coldName struct{ part, why string }

// whyCold returns the kind of one-time work that a span shows; "": none.
func whyCold(cat trace.Category, name string) string {
	switch {
	case cat == trace.Overhead:
		if overheadOf(name) == loading {
			return ColdLoad
		}
		return ""
	case cat == trace.PythonFunction:
		file, function, _ := strings.Cut(name, "): ")
		for _, f := range coldFrames {
			if strings.HasPrefix(function, f.function) && strings.Contains(file, f.file+"(") {
				return f.why
			}
		}
	case cat == trace.CPUOp, cat == trace.UserAnnotation, cat.Launch():
		for _, c := range coldNames {
			if strings.Contains(name, c.part) {
				return c.why
			}
		}
	}
	if cat.Launch() {
		for _, c := range coldCalls {
			if strings.Contains(name, c.part) {
				return c.why
			}
		}
	}
	return ""
}

const coldShortest = 10_000 // ns; shorter work delays nothing

// coldStarts finds the one-time work of the launching threads. If spans that show such work are nested, only the
// outermost span counts.
func coldStarts(t *trace.Trace, r *Rank) []Cold {
	launching := make([]bool, len(t.Tracks))
	for i := range r.Calls {
		launching[r.Calls[i].Track] = true
	}
	for i := range r.Steps {
		launching[r.Steps[i].Track] = true
	}
	type why struct {
		cat   trace.Category
		known bool
		is    string
	}
	names := make([]why, t.Strings.Len()) // cached by name, since almost every name has a single category
	var all []Cold
	for i := range t.Spans {
		s := &t.Spans[i]
		// The tracks of overhead spans do not identify the thread, so overhead counts for any thread.
		if s.Dur < coldShortest || s.Cat != trace.Overhead && !launching[s.Track] || s.Cat.OnGPU() {
			continue
		}
		w := &names[s.Name]
		if !w.known || w.cat != s.Cat {
			*w = why{s.Cat, true, whyCold(s.Cat, t.Strings.Get(s.Name))}
		}
		if w.is != "" {
			all = append(all, Cold{Interval: Interval{s.Start, s.End()}, Why: w.is, Name: t.Strings.Get(s.Name), Track: s.Track})
		}
	}
	all = outermost(all)
	all = outermost(append(all, r.firstLaunches(all)...))
	for i := range all {
		c := &all[i]
		c.Step, c.Call = r.stepFrom(c.Start+(c.End-c.Start)/2), r.callAfter(c, launching)
	}
	return all
}

// outermost returns, in time order, the elements that are not nested in another one. If two elements overlap, the
// common time belongs to the earlier one.
func outermost(all []Cold) []Cold {
	sorts.Stable(all, func(x, y Cold) int { return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End)) })
	out := all[:0]
	for _, c := range all {
		if n := len(out); n > 0 && c.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, c.End)
			continue
		}
		out = append(out, c)
	}
	return out
}

// stepFrom returns the step whose period contains the host time at or, if there is none, the next step; -1: none.
func (r *Rank) stepFrom(at int64) int32 {
	i, _ := slices.BinarySearchFunc(r.Steps, at, func(s Step, at int64) int { return cmp.Compare(s.Start, at+1) })
	if i > 0 && at < r.Steps[i-1].Start+r.Period(i-1) {
		i--
	}
	if i == len(r.Steps) {
		return -1
	}
	return int32(i)
}

// callAfter returns the launch that a cold start delayed: the first launch that returns at or after the end of the cold
// start.
func (r *Rank) callAfter(c *Cold, launching []bool) int32 {
	i, _ := slices.BinarySearchFunc(r.Calls, c.Start, func(x Call, at int64) int { return cmp.Compare(x.Start, at+1) })
	for i = max(i-1, 0); i < len(r.Calls); i++ {
		if x := &r.Calls[i]; x.End >= c.End && (x.Track == c.Track || !launching[c.Track]) {
			return int32(i)
		}
	}
	return -1
}

// A first launch is cold if it takes at least firstFactor times the median of at least laterLeast later launches, and
// exceeds that median by at least firstLeast.
const (
	firstFactor = 10
	firstLeast  = 1_000_000 // ns
	laterLeast  = 3
)

// firstLaunches finds kernels whose first launch in the window, measured from the previous launch, took far longer than
// later launches of the kernel. It leaves out launches that overlap the one-time work listed in known. The first launch
// must also take far longer than the kernel's first launch in each later step, because a delay that recurs at the same
// point of every step is no cold start. firstLaunches skips the first step, in which all launches are first launches
// and profilers start. It also skips the first launch of each step, because hosts do other work before it. It needs
// steps with names, since other steps do not show which launch is the first of a step.
func (r *Rank) firstLaunches(known []Cold) (out []Cold) {
	if slices.Contains([]string{trace.ByPattern, trace.ByGraphs}, r.Rule) {
		return nil
	}
	type launches struct {
		first, from int64 // host time of the first launch, and the start of that time
		call        int32
		step        int32   // step of the latest launch
		later       []int64 // host times of later launches
		again       []int64 // host times of the first launch in each later step, at the same point of the step
	}
	by := map[int32]*launches{}
	before := map[trace.TrackID]*Call{}
	var order []*launches
	for i := range r.Calls {
		c := &r.Calls[i]
		prev := before[c.Track]
		before[c.Track] = c
		if c.Op < 0 || c.Blocks {
			continue
		}
		name := r.Ops[c.Op].Name
		if l := by[name]; l != nil {
			l.later = append(l.later, c.Host)
			if c.Step != l.step {
				l.step, l.again = c.Step, append(l.again, c.Host)
			}
			continue
		}
		l := &launches{call: int32(i), step: c.Step}
		by[name] = l
		if prev != nil && prev.Step == c.Step && c.Step > 0 && !r.Begins(int(c.Step)) && c.Host > firstLeast {
			l.first, l.from = c.Host, prev.End
			order = append(order, l)
		}
	}
	for _, l := range order {
		if len(l.later) < laterLeast {
			continue
		}
		like := int64(metric.MedianInPlace(l.later))
		if len(l.again) > 0 {
			like = max(like, int64(metric.MedianInPlace(l.again)))
		}
		if l.first < firstFactor*like || l.first < firstLeast+like {
			continue
		}
		c := &r.Calls[l.call]
		if !slices.ContainsFunc(known, func(k Cold) bool { return k.Start < c.End && l.from < k.End }) {
			out = append(out, Cold{Interval: Interval{c.End - l.first + like, c.End}, Why: ColdFirst, Like: like, Track: c.Track})
		}
	}
	return out
}

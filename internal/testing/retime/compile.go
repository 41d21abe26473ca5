package retime

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Compile returns a copy of a window in which Triton compiles a kernel on some ranks, before a launch in a step, and the
// name of the kernel. The hosts of these ranks stall for ns, with the frames that a trace with Python stacks shows then,
// or without any.
func Compile(ts []*trace.Trace, step int, ns int64, stacks bool, ranks ...int) (out []*trace.Trace, kernel string, err error) {
	calls, m := map[int]int64{}, New(ts) // calls: correlations of the launches
	all := make([]*prep.Rank, len(ts))
	for i, t := range clone(ts) {
		all[i] = prep.Trace(t, nil)
	}
	prep.Join(all)
	for _, rank := range ranks {
		r, n := all[rank], 0
		for i := range r.Calls {
			c := &r.Calls[i]
			if int(c.Step) != step || c.Op < 0 {
				continue
			}
			if n++; n == 6 { // in the middle of a step's first layer
				s := ts[rank].Spans[r.Ops[c.Op].Span]
				calls[rank], kernel = s.Corr, ts[rank].Strings.Get(s.Name)
				m.PauseAt(rank, c.Start-1, ns)
			}
		}
	}
	if len(calls) < len(ranks) {
		return nil, "", fmt.Errorf("step %d has fewer than 6 launches on a rank", step)
	}
	if out, err = m.Run(); err != nil || !stacks {
		return out, kernel, err
	}
	for rank, corr := range calls {
		t := out[rank]
		i := slices.IndexFunc(t.Spans, func(s trace.Span) bool { return s.Cat.Launch() && s.Corr == corr })
		call := t.Spans[i]
		for _, name := range []string{"triton/runtime/jit.py(695): run", "triton/runtime/jit.py(826): _do_compile", "triton/compiler/compiler.py(226): compile"} {
			Insert(t, trace.Span{Cat: trace.PythonFunction, Track: call.Track, Name: t.Strings.Intern([]byte(name)), Start: call.Start - ns, Dur: ns - 2000, Detail: -1})
		}
	}
	return out, kernel, nil
}

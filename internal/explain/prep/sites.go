package prep

import (
	"cmp"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Site is the place in a program from which kernels are launched, as recorded with Python stacks.
type Site struct {
	Frame  string // the innermost frame of the engine, as in sglang/srt/layers/linear.py:443 forward; "": none
	Module string // classes of the modules around it, from the layer or the model on, joined with dots; "": none
	Op     string // the innermost CPU op; "": none
	Layer  int32  // number of the layer around the modules; -1: none
}

// siteAt is the state of a thread: the names of the innermost open frames and op.
type siteAt struct {
	engine, library, op trace.StringID
	module              int32 // index in siteFinder.modules
	layer               int32
}

// siteFinder collects the sites of a trace.
type siteFinder struct {
	t       *trace.Trace
	frames  []frame // by name
	modules []string
	nested  map[nesting]int32 // index in modules
	sites   map[siteAt]int32  // index in out
	out     []Site
}

// nesting is a module inside other modules.
type nesting struct {
	around int32
	class  string
}

// findSites finds the site of each call: the frames and ops that are open on the call's thread when the call begins.
func (r *Rank) findSites(t *trace.Trace) {
	if !r.Stacks {
		return
	}
	f := &siteFinder{t: t, frames: make([]frame, t.Strings.Len()), modules: []string{""}, nested: map[nesting]int32{}, sites: map[siteAt]int32{}}
	type open struct {
		siteAt
		end int64
	}
	calls, track, stack := r.callsBySpan(), trace.TrackID(0), []open(nil)
	for i := range t.Spans {
		s := &t.Spans[i]
		launches := s.Cat.Launch() && len(calls) > 0 && r.Calls[calls[0]].Span == int32(i)
		if !launches && s.Cat != trace.CPUOp && (s.Cat != trace.PythonFunction || f.frame(s).kind == frameIgnored) {
			continue
		}
		if s.Track != track {
			stack, track = stack[:0], s.Track
		}
		for len(stack) > 0 && stack[len(stack)-1].end <= s.Start {
			stack = stack[:len(stack)-1]
		}
		in := open{siteAt{layer: -1}, s.End()}
		if n := len(stack); n > 0 {
			in = open{stack[n-1].siteAt, min(s.End(), stack[n-1].end)}
		}
		if launches {
			r.Calls[calls[0]].Site = f.site(in.siteAt)
			calls = calls[1:]
		} else {
			f.enter(&in.siteAt, s)
			stack = append(stack, in)
		}
	}
	r.Names.Sites = f.out
}

// callsBySpan returns the indices of the calls, in the order of the calls' spans.
func (r *Rank) callsBySpan() []int32 {
	calls := make([]int32, len(r.Calls))
	for i := range calls {
		calls[i] = int32(i)
	}
	sorts.By(calls, func(x, y int32) int { return cmp.Compare(r.Calls[x].Span, r.Calls[y].Span) })
	return calls
}

// frame returns the frame of a Python function's span.
func (f *siteFinder) frame(s *trace.Span) *frame {
	x := &f.frames[s.Name]
	if x.kind == frameUnknown {
		*x = frameOf(f.t.Strings.Get(s.Name))
	}
	return x
}

// enter changes the state of a thread when a span begins.
func (f *siteFinder) enter(at *siteAt, s *trace.Span) {
	if s.Cat == trace.CPUOp {
		at.op = s.Name
		return
	}
	switch x := f.frame(s); x.kind {
	case frameEngine:
		at.engine = s.Name
	case frameLibrary:
		at.library = s.Name
	case frameLayer:
		if at.layer < 0 { // a part of a layer may look like a layer itself
			at.layer, at.module = x.number, 0
		}
		fallthrough
	case frameModule:
		in := nesting{at.module, x.text}
		n, ok := f.nested[in]
		if !ok {
			n = int32(len(f.modules))
			f.nested[in] = n
			f.modules = append(f.modules, strings.TrimPrefix(f.modules[at.module]+"."+x.text, "."))
		}
		at.module = n
	}
}

// site returns the index of the site with a state; -1: nothing is known.
func (f *siteFinder) site(at siteAt) int32 {
	if at.engine != 0 {
		at.library = 0
	}
	if at.engine|at.library == 0 && at.module == 0 {
		return -1
	}
	n, ok := f.sites[at]
	if !ok {
		n = int32(len(f.out))
		f.sites[at] = n
		f.out = append(f.out, Site{Frame: f.frames[at.engine|at.library].text, Module: f.modules[at.module], Op: f.t.Strings.Get(at.op), Layer: at.layer})
	}
	return n
}

// SiteOf returns the place from which an op was launched, as an index in Names.Sites; -1: unknown. The site of a
// replayed kernel is unknown unless another window has it.
func (r *Rank) SiteOf(op int) int32 {
	if r.carried != nil && r.carried[op] > 0 {
		return r.carried[op] - 1
	}
	if o := &r.Ops[op]; o.Call >= 0 && !r.InGraph(o) {
		return r.Calls[o.Call].Site
	}
	return -1
}

// Carry assigns to an op the place from which the same op was launched in another window.
func (r *Rank) Carry(op, site int32) {
	if r.carried == nil {
		r.carried = make([]int32, len(r.Ops))
	}
	r.carried[op] = site + 1
}

// Carried reports whether the op's place was assigned by Carry.
func (r *Rank) Carried(op int) bool { return r.carried != nil && r.carried[op] > 0 }

// Package kernels sums up the GPU work of a capture for the viewer, as a table or a flame graph. Work is grouped by
// class and kernel, or by the CPU op, layer or Python function that launched it. Values of another capture can be
// included for comparison. Times are in nanoseconds, summed over ranks and steps; callers divide by the number of
// steps.
package kernels

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Group is a grouping of work.
type Group string

// Groupings of work.
const (
	Class  Group = "class"  // class of kernels, then kernels by name and grid
	Kernel Group = "kernel" // kernels by name
	Op     Group = "op"     // launching CPU ops and annotations
	Layer  Group = "layer"  // layers and modules, from layer-wise markers
	Frame  Group = "frame"  // launching Python functions
)

// Groups returns the groupings that are available for the capture.
func (w *Work) Groups() []Group {
	groups := []Group{Class, Kernel}
	if w.traces != nil {
		groups = append(groups, Op)
	}
	if w.a.Marks != nil {
		groups = append(groups, Layer)
	}
	if slices.ContainsFunc(w.traces, func(t *trace.Trace) bool { return t.Source.WithStack }) {
		groups = append(groups, Frame)
	}
	return groups
}

// Work is the GPU work of one capture. It is safe for concurrent use.
type Work struct {
	a      *match.Aligned
	traces []*trace.Trace // traces, in the order of a's ranks; nil for a summarised window

	mu    sync.Mutex
	trees map[Group]*tree
}

// New returns the work of a capture, given its ranks and the traces of the ranks.
func New(a *match.Aligned, traces []*trace.Trace) *Work {
	return &Work{a: a, traces: traces, trees: map[Group]*tree{}}
}

// Query selects and groups work.
type Query struct {
	By   Group
	Rank int    // index of a rank; -1: all
	Kind string // kind of the steps; "": all
}

// Check returns an error if a query is invalid for this capture.
func (w *Work) Check(q Query) error {
	if !slices.Contains(w.Groups(), q.By) {
		why := map[Group]string{
			Op:    "its ranks were summarised elsewhere, without host activity",
			Layer: "it has no markers of layers; see stepscope analyze --layers",
			Frame: "it was recorded without Python stacks",
		}[q.By]
		return fmt.Errorf("this capture cannot be grouped by %q: %s", q.By, why)
	}
	if q.Rank >= len(w.a.Ranks) {
		return fmt.Errorf("there is no rank %d", q.Rank)
	}
	return nil
}

// ranks returns the ranks selected by a query.
func (w *Work) ranks(q Query) []*match.Rank {
	if q.Rank < 0 {
		return w.a.Ranks
	}
	return w.a.Ranks[q.Rank : q.Rank+1]
}

// steps returns the number of selected steps, over all selected ranks.
func (w *Work) steps(q Query) (n int) {
	for _, r := range w.ranks(q) {
		for i := range r.Steps {
			if q.takes(r, int32(i)) {
				n++
			}
		}
	}
	return n
}

// takes reports whether the query selects the work of a step.
func (q *Query) takes(r *match.Rank, step int32) bool {
	return q.Kind == "" || prep.KindName(r.KindAt(step)) == q.Kind
}

// tree holds all paths that lead to GPU work. Node 0 is the root.
type tree struct {
	parent []int32
	name   []int32 // index in names of each node's name
	names  []string
	kernel []bool           // whether each node is a kernel
	class  map[int32]string // class of each kernel name
	of     [][]int32        // node of each op, by rank
	wait   map[int32]int32  // node of the waits of each kernel, by its name in Names.List

	byName map[string]int32
	byPath map[[2]int32]int32 // node by parent and name
}

func newTree() *tree {
	return &tree{parent: []int32{-1}, name: []int32{0}, kernel: []bool{false}, names: []string{""}, class: map[int32]string{}, byName: map[string]int32{"": 0}, byPath: map[[2]int32]int32{}}
}

// short returns a node's name for display. It omits details of kernel names that matter only to a compiler.
func (t *tree) short(node int32) string {
	name := t.names[t.name[node]]
	if t.kernel[node] {
		return kernel.Short(name)
	}
	return name
}

// same returns a node's name in the form that is identical in all captures of the same code.
func (t *tree) same(node int32) string {
	name := t.names[t.name[node]]
	if t.kernel[node] {
		return kernel.Normalize(name)
	}
	return name
}

// id returns the index of a name, and adds the name if it is new.
func (t *tree) id(name string) int32 {
	n, ok := t.byName[name]
	if !ok {
		n = int32(len(t.names))
		t.names = append(t.names, name)
		t.byName[name] = n
	}
	return n
}

// child returns the child of parent with the given name, and adds the child if it is new.
func (t *tree) child(parent, name int32) int32 {
	key := [2]int32{parent, name}
	n, ok := t.byPath[key]
	if !ok {
		n = int32(len(t.parent))
		t.parent, t.name, t.kernel = append(t.parent, parent), append(t.name, name), append(t.kernel, false)
		t.byPath[key] = n
	}
	return n
}

// below returns the node at the end of a path of names that begins below node.
func (t *tree) below(node int32, names ...string) int32 {
	for _, name := range names {
		node = t.child(node, t.id(name))
	}
	return node
}

// tree returns the tree of a grouping. Each tree is built only once.
func (w *Work) tree(by Group) *tree {
	if by == Kernel {
		by = Class
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.trees[by]; t != nil {
		return t
	}
	t := newTree()
	kernels := make([]int32, len(w.a.Names.List)) // index of each kernel name in the tree
	for i, name := range w.a.Names.List {
		kernels[i] = t.id(columns.Clean(name))
		t.class[kernels[i]] = string(w.a.Names.Class[i].Group())
	}
	t.wait = map[int32]int32{}
	for i, r := range w.a.Ranks {
		of := make([]int32, len(r.Ops))
		var launched []int32 // node of each call
		if by == Op || by == Frame {
			launched = launchers(t, r, w.traces[i], by)
		}
		for k := range r.Ops {
			o := &r.Ops[k]
			at := int32(0)
			switch by {
			case Class:
				at = t.below(0, string(o.Class.Group()))
				t.class[t.name[at]] = string(o.Class.Group())
			case Layer:
				at = w.layer(t, r, r.RangeAt(k))
			default:
				if o.Call >= 0 {
					at = launched[o.Call]
				} else {
					at = t.below(0, NotRecorded)
				}
			}
			at = t.child(at, kernels[o.Name])
			t.kernel[at] = true
			if by == Class {
				if g := w.a.Names.Keys[o.Key].Grid; g != [3]int32{} {
					at = t.below(at, fmt.Sprintf("grid %d × %d × %d", g[0], g[1], g[2]))
				}
			}
			of[k] = at
			if _, known := t.wait[int32(o.Name)]; !known && waitOf(r, k) > 0 {
				at := t.below(0, Waiting)
				t.class[t.name[at]] = waitClass
				at = t.child(at, kernels[o.Name])
				t.kernel[at], t.wait[int32(o.Name)] = true, at
			}
		}
		t.of = append(t.of, of)
	}
	w.trees[by] = t
	return t
}

// Names of nodes for other work. NotRecorded is for work without a recorded launch, NoLayer for work outside all
// modules, and NoOp for work outside all ops or functions.
const (
	NotRecorded = "(launch not recorded)"
	NoLayer     = "(in no module)"
	NoOp        = "(in none)"
)

// layer returns the node of a module's range. The path to the node consists of the layer and the modules within the
// layer that enclose the range, outermost first.
func (w *Work) layer(t *tree, r *match.Rank, at int32) int32 {
	if at < 0 {
		return t.below(0, NoLayer)
	}
	m := w.a.Marks
	var path []string
	layer := int32(-1)
	for ; at >= 0; at = r.Ranges[at].Parent {
		mod := &m.Modules[r.Ranges[at].Module]
		if layer >= 0 && mod.Layer != layer { // skip modules that enclose the layer, which are the same for all layers
			break
		}
		if kind := m.Groups[mod.Group].Kind; kind != "" {
			path = append(path, columns.Clean(kind))
		}
		layer = mod.Layer
	}
	if layer >= 0 {
		l := &m.Layers[layer]
		path = append(path, columns.Clean(l.Stack)+"."+strconv.Itoa(l.N))
	}
	slices.Reverse(path)
	return t.below(0, path...)
}

// launchers returns the node of each call, given by the spans that enclose the call on its thread.
func launchers(t *tree, r *match.Rank, tr *trace.Trace, by Group) []int32 {
	nodes := make([]int32, len(r.Calls))
	callAt := make(map[int32]int32, len(r.Calls)) // index of the call, by span
	for i := range r.Calls {
		callAt[r.Calls[i].Span] = int32(i)
		nodes[i] = -1
	}
	names := make([]int32, tr.Strings.Len()) // index in t.names, plus 1
	type open struct {
		end   int64
		track trace.TrackID
		name  trace.StringID
		node  int32 // -1: not resolved yet
	}
	var stack []open
	// resolve returns the node of the innermost open span.
	resolve := func() int32 {
		if len(stack) == 0 {
			return t.below(0, NoOp)
		}
		at := int32(0)
		for i := range stack {
			s := &stack[i]
			if s.node < 0 {
				if names[s.name] == 0 {
					names[s.name] = t.id(columns.Clean(prep.WithoutAddress(tr.Strings.Get(s.name)))) + 1
				}
				s.node = t.child(at, names[s.name]-1)
			}
			at = s.node
		}
		return at
	}
	for i := range tr.Spans {
		s := &tr.Spans[i]
		call, launches := callAt[int32(i)]
		around := s.Cat == trace.PythonFunction && by == Frame || s.Cat == trace.CPUOp && by == Op
		if !launches && !around {
			continue
		}
		for len(stack) > 0 && (stack[len(stack)-1].track != s.Track || s.Start >= stack[len(stack)-1].end) {
			stack = stack[:len(stack)-1]
		}
		if launches {
			nodes[call] = resolve()
		} else {
			stack = append(stack, open{s.End(), s.Track, s.Name, -1})
		}
	}
	for i, at := range nodes {
		if at < 0 { // the call's span is not in the trimmed trace
			nodes[i] = t.below(0, NotRecorded)
		}
	}
	return nodes
}

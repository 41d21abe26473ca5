package prep

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/layers"
	"github.com/stepscope/stepscope/trace"
)

// Host is the CPU side of a rank, reduced to the data that is needed to compare ranks.
type Host struct {
	Ops, Frames []SelfTime // self times of CPU ops, annotations and API calls, and of Python functions
	// Steps is the self time of CPU ops and annotations on the threads of steps, one entry per step and name. It is set
	// only for a rank without GPU work, because such a rank's steps cannot be compared in any other way.
	Steps  []OpTime
	Before []Before // activity before launches, ordered by Call
	Gaps   []Gap    // the longest gaps of the device, longest first
	// Texts are names that may be layer-wise markers, and Marked are the spans with these names. Only the names of all
	// ranks together show which ones are markers.
	Texts  []string
	Marked []Marked
}

// SelfTime sums up the spans with one name.
type SelfTime struct {
	Name        string
	Count       int
	Total, Self int64
}

// OpTime is the self time of one name in the step that contains the time At.
type OpTime struct {
	Name     string
	At, Self int64
}

// Before is the activity of the launching thread between its previous launch and a launch.
type Before struct {
	Call int32
	Did  Doing
}

// Marked is a span that may be a layer-wise marker.
type Marked struct {
	Start, End int64
	Span       int32 // index in the trace's Spans
	Text       int32 // index in Texts
	Track      trace.TrackID
}

// host is a trace with its spans grouped by thread, from which a Host is built.
type host struct {
	t    *trace.Trace
	rows [][]trace.Span // spans of each track
	ends []ends         // see endsOf; of each track
	ops  bool           // whether CPU ops or Python functions were recorded
}

// ends holds the latest end of the spans in each block, and in each large block, of a track.
type ends struct{ blocks, large []int64 }

const block, large = 256, 32 * 256 // spans

func newHost(t *trace.Trace) *host {
	h := &host{t: t, rows: make([][]trace.Span, len(t.Tracks)), ends: make([]ends, len(t.Tracks)), ops: slices.ContainsFunc(t.Spans, isHostOp)}
	for i := 0; i < len(t.Spans); { // sorted by track
		j := i
		for j < len(t.Spans) && t.Spans[j].Track == t.Spans[i].Track {
			j++
		}
		h.rows[t.Spans[i].Track] = t.Spans[i:j]
		i = j
	}
	return h
}

// endsOf returns the ends of a thread's blocks.
func (h *host) endsOf(track trace.TrackID) *ends {
	e, row := &h.ends[track], h.rows[track]
	if e.blocks == nil {
		of := func(size int) (all []int64) {
			for part := range slices.Chunk(row, size) {
				last := part[0].End()
				for i := range part {
					last = max(last, part[i].End())
				}
				all = append(all, last)
			}
			return all
		}
		e.blocks, e.large = of(block), of(large)
	}
	return e
}

// isHostOp reports whether a span shows that CPU activities were recorded.
func isHostOp(s trace.Span) bool { return s.Cat == trace.CPUOp || s.Cat == trace.PythonFunction }

// hostOf builds a rank's Host. All other parts of the rank must already be complete.
func hostOf(t *trace.Trace, r *Rank) (out Host) {
	h := newHost(t)
	textOf := make([]int32, t.Strings.Len()) // StringID -> texts + 1
	var frame []bool                         // by index in texts: whether the name is a Python frame's
	for id := 1; id < len(textOf); id++ {
		if m, ok := layers.Parse(t.Strings.Get(trace.StringID(id))); ok {
			out.Texts, frame = append(out.Texts, t.Strings.Get(trace.StringID(id))), append(frame, m.Form == layers.Frame)
			textOf[id] = int32(len(out.Texts))
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if textOf[s.Name] == 0 {
			continue
		}
		if s.Cat == trace.PythonFunction && frame[textOf[s.Name]-1] || s.Cat == trace.UserAnnotation || s.Cat == trace.CPUOp {
			out.Marked = append(out.Marked, Marked{s.Start, s.End(), int32(i), textOf[s.Name] - 1, s.Track})
		}
	}
	name := func(id trace.StringID) string {
		if textOf[id] > 0 {
			return t.Strings.Get(id)
		}
		return WithoutAddress(t.Strings.Get(id))
	}
	out.Ops = h.selfTimes(name, func(c trace.Category) bool { return c == trace.CPUOp || c == trace.UserAnnotation || c.Launch() })
	if r.Source.WithStack {
		out.Frames = h.selfTimes(name, func(c trace.Category) bool { return c == trace.PythonFunction })
	}
	if len(r.Ops) == 0 {
		out.Steps = h.opTimes(r, name)
	}
	out.Before, out.Gaps = h.before(r), h.gaps(r)
	return out
}

// WithoutAddress removes from a span's name the object address that Python puts into the names of builtins.
func WithoutAddress(name string) string { return objectAddress.ReplaceAllString(name, "") }

var objectAddress = regexp.MustCompile(` at 0x[0-9a-fA-F]+`)

// selfTimes sums up the spans of the wanted categories by name.
func (h *host) selfTimes(name func(trace.StringID) string, want func(trace.Category) bool) (out []SelfTime) {
	byID := make([]int32, h.t.Strings.Len()) // index in out, plus 1
	byName := map[string]int32{}
	h.nest(want, func(s, parent *trace.Span, dur int64) {
		if byID[s.Name] == 0 {
			n := name(s.Name)
			if byName[n] == 0 {
				out = append(out, SelfTime{Name: n})
				byName[n] = int32(len(out))
			}
			byID[s.Name] = byName[n]
		}
		o := &out[byID[s.Name]-1]
		o.Count++
		o.Total += s.Dur
		o.Self += dur
		if parent != nil {
			out[byID[parent.Name]-1].Self -= dur
		}
	})
	return out
}

// opTimes returns Host.Steps. If the file is truncated, it includes the steps whose GPU work is missing (see
// RestoreCut). If there are no steps, the markers of all ranks will later turn everything into one step (see
// findRanges). In that case only the first track counts, and times of equal names are not yet added up.
func (h *host) opTimes(r *Rank, name func(trace.StringID) string) (out []OpTime) {
	steps := &Rank{Steps: slices.Concat(r.Steps, r.Cut)}
	type key struct {
		name trace.StringID
		step int32
	}
	known := map[key]int{}
	add := func(s *trace.Span, ns int64) {
		step := steps.StepAt(s.Start)
		switch {
		case len(steps.Steps) == 0 && s.Track == 0:
			out = append(out, OpTime{name(s.Name), s.Start, ns})
		case step >= 0 && s.Track == steps.Steps[step].Track:
			at, ok := known[key{s.Name, step}]
			if !ok {
				at, known[key{s.Name, step}] = len(out), len(out)
				out = append(out, OpTime{name(s.Name), s.Start, 0})
			}
			out[at].Self += ns
		}
	}
	h.nest(func(c trace.Category) bool { return c == trace.CPUOp || c == trace.UserAnnotation }, func(s, parent *trace.Span, dur int64) {
		add(s, dur)
		if parent != nil {
			add(parent, -dur)
		}
	})
	return out
}

// before returns the activity before the longest launch of each kernel in each step. No other launches are needed.
func (h *host) before(r *Rank) (out []Before) {
	type key struct{ step, key int32 }
	longest := map[key]int32{}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Op < 0 {
			continue
		}
		k := key{c.Step, r.Ops[c.Op].Key}
		if at, ok := longest[k]; !ok || c.Host > r.Calls[at].Host {
			longest[k] = int32(i)
		}
	}
	wanted := make([]bool, len(r.Calls))
	for _, i := range longest {
		wanted[i] = true
	}
	last := map[trace.TrackID]int64{} // end of the previous launch
	for i := range r.Calls {
		c := &r.Calls[i]
		from, ok := last[c.Track]
		if !ok {
			from = c.Start
		}
		if wanted[i] {
			out = append(out, Before{int32(i), h.did(c.Track, min(from, c.Start), c.Start)})
		}
		last[c.Track] = c.End
	}
	return out
}

// DidBefore returns the activity of a call's thread since its previous launch, if the call is the longest launch of a
// kernel in a step.
func (r *Rank) DidBefore(call int) Doing {
	i, ok := slices.BinarySearchFunc(r.Host.Before, int32(call), func(b Before, call int32) int { return cmp.Compare(b.Call, call) })
	if !ok {
		return Doing{}
	}
	return r.Host.Before[i].Did
}

// nest visits the spans of the wanted categories. parent is the innermost wanted span that contains s on the same
// thread, or nil. dur is the length of s, without the few ns by which a child may extend beyond its parent.
func (h *host) nest(want func(trace.Category) bool, visit func(s, parent *trace.Span, dur int64)) {
	type open struct {
		span *trace.Span
		end  int64
	}
	var stack []open
	for i := range h.t.Spans {
		s := &h.t.Spans[i]
		if !want(s.Cat) {
			continue
		}
		for len(stack) > 0 {
			if top := stack[len(stack)-1]; top.span.Track == s.Track && s.Start < top.end {
				break
			}
			stack = stack[:len(stack)-1]
		}
		dur, parent := s.Dur, (*trace.Span)(nil)
		if len(stack) > 0 {
			top := stack[len(stack)-1]
			parent, dur = top.span, min(dur, top.end-s.Start)
		}
		visit(s, parent, dur)
		stack = append(stack, open{s, s.Start + dur})
	}
}

package prep

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// Still is a stall: an interval without events of the launching thread, although the same activity usually takes far
// less time. Possible causes are that the process was stopped, had no core, or collected garbage.
type Still struct {
	Interval
	In, After string // the innermost open span ("": none), and the span that last began or ended
	Like      int64  // median time between turns of the same names elsewhere
	Step      int32  // the step that contains the stall, or that the stall delays
	// Sure means that the thread was certainly not waiting for another thread. Outside of all spans, or in a call that
	// blocks by design, it may have been waiting.
	Sure bool
}

// A gap between events is a stall if it is at least stillLeast long, and at least stillFactor times the median of more
// than stillAlike similar gaps. If the thread may have been waiting for another thread, waitFactor replaces
// stillFactor, but the trace must then show that other threads or ranks waited for this thread.
const (
	stillLeast  = 2_000_000 // ns
	stillFactor = 10
	waitFactor  = 4
	stillAlike  = 3
)

var (
	// varies matches numbers and addresses, which may differ between names of the same thing.
	varies = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)
	// waiting matches the names of functions that block by design. Tensor operators (aten::select) are exempt.
	waiting = regexp.MustCompile(`(?i)wait|recv|poll|select|sleep|acquire|synchronize|broadcast|barrier|gloo`)
)

// turn is a moment at which a span of a thread begins or ends.
type turn struct {
	name   trace.StringID
	begins bool
}

// gap is the time between two consecutive turns of a thread.
type gap struct {
	Interval
	from, to turn
	in       *trace.Span // the innermost open span; nil: none
}

// eachGap visits the gaps of a thread. spans must be in order, parents before their children.
func eachGap(spans []trace.Span, visit func(g *gap)) {
	type open struct {
		span *trace.Span
		end  int64
	}
	var stack []open
	var g gap
	next := func(at int64, to turn) {
		g.End, g.to, g.in = at, to, nil
		if n := len(stack); n > 0 {
			g.in = stack[n-1].span
		}
		if g.Start > 0 {
			visit(&g)
		}
		g.Start, g.from = at, to
	}
	for i := range spans {
		s := &spans[i]
		if s.Cat != trace.CPUOp && s.Cat != trace.UserAnnotation && s.Cat != trace.PythonFunction && !s.Cat.Launch() {
			continue
		}
		for len(stack) > 0 && stack[len(stack)-1].end <= s.Start {
			top := stack[len(stack)-1]
			next(top.end, turn{top.span.Name, false})
			stack = stack[:len(stack)-1]
		}
		end := s.End()
		if n := len(stack); n > 0 {
			end = min(end, stack[n-1].end) // a child may end a few ns after its parent
		}
		next(s.Start, turn{s.Name, true})
		stack = append(stack, open{s, end})
	}
}

// standsStill returns the stalls of the launching thread. If the trace contains only API calls, it returns nil: API
// calls are too sparse, and may themselves wait for the device or for another process that uses the device. The first
// step of a stretch is left out because the profilers start in it.
func standsStill(t *trace.Trace, r *Rank) (out []Still) {
	spans := r.mainThread(t)
	if !slices.ContainsFunc(spans, isHostOp) {
		return nil
	}
	main, waits := r.Main, r.WaitsOf(r.Main)
	var found []gap
	eachGap(spans, func(g *gap) {
		if g.End-g.Start < stillLeast || g.in != nil && g.in.Cat.Launch() || r.stepFrom(g.End) < 1 || r.Begins(int(r.stepFrom(g.End))) {
			return
		}
		known := Overlap(waits, g.Start, g.End) + Overlap(r.Stalls, g.Start, g.End) + Overlap(r.Full, g.Start, g.End)
		for i := range r.Cold {
			known += Overlap([]Interval{r.Cold[i].Interval}, g.Start, g.End)
		}
		if 2*known < g.End-g.Start {
			found = append(found, *g)
		}
	})
	if found == nil {
		return nil
	}
	likes := alike(t, spans, found)
	beside := intervals(t, func(s *trace.Span) bool { // times in which other threads wait on behalf of this thread
		return s.Track != main && s.Cat == trace.UserAnnotation && waiting.MatchString(t.Strings.Get(s.Name))
	})
	for i, g := range found {
		s := Still{Interval: g.Interval, After: t.Strings.Get(g.from.name), Step: r.stepFrom(g.End)}
		factor := int64(waitFactor)
		if g.in != nil && g.in.Cat != trace.UserAnnotation {
			s.In = t.Strings.Get(g.in.Name)
			s.Sure = (strings.HasPrefix(s.In, "aten::") || !waiting.MatchString(s.In)) && 2*Overlap(beside, g.Start, g.End) < g.End-g.Start
		}
		if s.Sure {
			factor = stillFactor
		}
		if s.Like = int64(metric.Median(likes[i])); len(likes[i]) > stillAlike && g.End-g.Start >= factor*s.Like {
			out = append(out, s)
		}
	}
	return out
}

// alike returns, for each gap in of, the lengths of all gaps between turns with the same names.
func alike(t *trace.Trace, spans []trace.Span, of []gap) [][]int64 {
	first := map[string]trace.StringID{}
	plain := make([]trace.StringID, t.Strings.Len())
	for id := range plain {
		name := varies.ReplaceAllString(t.Strings.Get(trace.StringID(id)), "#")
		if _, ok := first[name]; !ok {
			first[name] = trace.StringID(id)
		}
		plain[id] = first[name]
	}
	kind := func(g *gap) [2]turn {
		return [2]turn{{plain[g.from.name], g.from.begins}, {plain[g.to.name], g.to.begins}}
	}
	all := map[[2]turn][]int64{}
	some := make([]bool, len(plain)) // turns at the start of a gap in of; the check avoids most map lookups
	for i := range of {
		all[kind(&of[i])], some[plain[of[i].from.name]] = nil, true
	}
	eachGap(spans, func(g *gap) {
		if !some[plain[g.from.name]] {
			return
		}
		k := kind(g)
		if list, ok := all[k]; ok {
			all[k] = append(list, g.End-g.Start)
		}
	})
	out := make([][]int64, len(of))
	for i := range of {
		out[i] = all[kind(&of[i])]
	}
	return out
}

// mainThread returns the spans of the thread with the most launches.
func (r *Rank) mainThread(t *trace.Trace) []trace.Span {
	if len(r.Calls) == 0 {
		return nil
	}
	from := slices.IndexFunc(t.Spans, func(s trace.Span) bool { return s.Track == r.Main })
	to := from
	for to < len(t.Spans) && t.Spans[to].Track == r.Main {
		to++
	}
	return t.Spans[from:to]
}

// mainTrack returns the track of the thread with the most launches. tracks is the number of tracks.
func (r *Rank) mainTrack(tracks int) trace.TrackID {
	launches := make([]int, max(tracks, 1))
	for i := range r.Calls {
		launches[r.Calls[i].Track]++
	}
	return trace.TrackID(slices.Index(launches, slices.Max(launches)))
}

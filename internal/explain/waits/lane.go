package waits

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// lane is one data-parallel rank of a server. It holds the steps that the ranks of this data-parallel rank run
// together, as recorded by one of them. compareClocks moves its times to the client's clock.
type lane struct {
	server  *Server
	dp      int // -1: not data-parallel
	host    string
	shift   int64      // time added to the times of the trace
	steps   []step     // in time order, without overlaps
	windows []interval // recorded periods
	pauses  []interval // long times between two steps of a window
	of      map[string][]int
	moves   map[string][]*move // KV transfers on this server, by request id
	rooms   map[roomOf]*move
}

type interval struct{ from, to int64 } // ns since the epoch

// step is one forward step. It ends when its work on the device ends, although a server that schedules ahead prepares
// the next step before that.
type step struct {
	interval
	kind   trace.StepKind
	name   string
	tokens int // new tokens; below 1: unknown
}

// prefill reports whether the step computes prompts, possibly together with other work.
func (s *step) prefill() bool { return s.kind == trace.Prefill || s.kind == trace.Mixed }

// begins reports whether the step may produce a request's first token.
func (s *step) begins() bool { return s.prefill() || s.kind == trace.OtherStep }

var errNoSteps = errors.New("the traces name no forward steps: nothing to join requests with")

// NewServer extracts the steps from a server's traces. It does not retain the traces. Traces of a prefill or decode
// server that did no work in the window are valid, too.
func NewServer(name, role string, traces []*trace.Trace) *Server {
	s := &Server{name: name, role: role}
	traces = slices.Clone(traces)
	sorts.Stable(traces, func(a, b *trace.Trace) int {
		return cmp.Or(cmp.Compare(filepath.Dir(a.Source.Path), filepath.Dir(b.Source.Path)), a.Source.Rank.Compare(b.Source.Rank))
	})
	type key struct {
		dir string
		dp  int
	}
	first := map[key]trace.Rank{} // first rank with steps
	byKey := map[key]*lane{}
	for _, t := range traces {
		passes, _ := trace.Passes(t)
		if len(passes) == 0 && (role == "" || len(t.Moves) == 0 && !recorded(t)) {
			continue
		}
		at := t.Source.Rank
		k := key{filepath.Dir(t.Source.Path), at.DP}
		l := byKey[k]
		if l == nil {
			l = &lane{server: s, dp: k.dp, host: t.Source.Host, of: map[string][]int{}, moves: map[string][]*move{}, rooms: map[roomOf]*move{}}
			byKey[k] = l
			s.lanes = append(s.lanes, l)
		}
		l.addMoves(t)
		if len(passes) == 0 {
			continue
		}
		if _, seen := first[k]; !seen {
			first[k] = at
		}
		if first[k] == at { // other ranks run the same steps, but files of other stages have different steps
			l.add(t, passes)
		}
	}
	for _, l := range s.lanes {
		l.order()
	}
	return s
}

// recorded reports whether a trace has a profiler window.
func recorded(t *trace.Trace) bool {
	return slices.ContainsFunc(t.Spans, func(s trace.Span) bool { return s.Cat == trace.Window })
}

// add adds the steps of a file.
func (l *lane) add(t *trace.Trace, passes []trace.Pass) {
	ends := deviceEnds(t, passes)
	window := interval{passes[0].Start, slices.Max(ends)}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == trace.Window {
			window = interval{s.Start, s.End()}
			break
		}
	}
	l.windows = append(l.windows, window)
	for i, p := range passes {
		n := len(l.steps)
		l.steps = append(l.steps, step{interval{p.Start, ends[i]}, p.Step.Kind, t.Strings.Get(p.Name), p.Step.Tokens})
		for _, id := range trace.RequestIDs(t.Strings.Get(p.Requests)) {
			l.of[id] = append(l.of[id], n)
		}
	}
}

// deviceEnds returns the end of each pass, including the pass's work on the device.
func deviceEnds(t *trace.Trace, passes []trace.Pass) []int64 {
	ends := make([]int64, len(passes))
	for i := range passes {
		ends[i] = passes[i].End
	}
	launched := map[int64]int32{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.Launch() && s.Corr != 0 {
			if p := trace.PassAt(passes, s.Start); p >= 0 && passes[p].Track == s.Track {
				launched[s.Corr] = p
			}
		}
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.OnGPU() && s.Corr != 0 {
			if p, ok := launched[s.Corr]; ok {
				ends[p] = max(ends[p], s.End())
			}
		}
	}
	return ends
}

// order sorts the steps. A step that was prepared while the previous step ran begins at the end of the previous step.
func (l *lane) order() {
	sorts.By(l.windows, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	at := make([]int, len(l.steps)) // old indices in the new order
	for i := range at {
		at[i] = i
	}
	sorts.Stable(at, func(a, b int) int { return cmp.Compare(l.steps[a].from, l.steps[b].from) })
	sorted, place := make([]step, len(at)), make([]int, len(at))
	end := int64(0)
	for i, old := range at {
		s := l.steps[old]
		s.from = max(s.from, end)
		s.to = max(s.to, s.from)
		sorted[i], place[old], end = s, i, s.to
	}
	l.steps = sorted
	for _, steps := range l.of {
		for i, old := range steps {
			steps[i] = place[old]
		}
		slices.Sort(steps)
	}
	l.findPauses()
}

// A pause is at least leastPause and longSteps times the median step. A server prepares a step within a fraction of that
// time.
const (
	leastPause = 20_000_000 // ns
	longSteps  = 5
)

// findPauses finds the times in which the server made no progress: between two steps, or in a decode step that took much
// longer than others. The profiler may have caused those at the ends of a window, which do not count.
func (l *lane) findPauses() {
	var all, decode []int64
	for i := range l.steps {
		took := l.steps[i].to - l.steps[i].from
		all = append(all, took)
		if l.steps[i].kind == trace.Decode {
			decode = append(decode, took)
		}
	}
	if len(all) == 0 {
		return
	}
	usual, usualDecode := int64(metric.MedianInPlace(all)), int64(0)
	if len(decode) > 0 {
		usualDecode = int64(metric.MedianInPlace(decode))
	}
	add := func(p interval, usual int64) {
		if n := p.to - p.from; n >= max(leastPause, (longSteps-1)*usual) && l.recorded(p.from, p.to) == n {
			l.pauses = append(l.pauses, p)
		}
	}
	for i := range l.steps {
		s := &l.steps[i]
		if i > 0 {
			add(interval{l.steps[i-1].to, s.from}, usual)
		}
		if s.kind == trace.Decode {
			add(interval{s.from + usualDecode, s.to}, usualDecode)
		}
	}
}

// recorded returns the length of the recorded part of an interval.
func (l *lane) recorded(from, to int64) (sum int64) {
	at := from
	for _, w := range l.windows {
		lo, hi := max(w.from, at), min(w.to, to)
		if hi > lo {
			sum += hi - lo
			at = hi
		}
	}
	return sum
}

// holds reports whether a moment was recorded.
func (l *lane) holds(at int64) bool {
	return slices.ContainsFunc(l.windows, func(w interval) bool { return w.from <= at && at <= w.to })
}

// lastBefore returns the index of the last step that ended no later than the time at, among the steps for which yes
// returns true. It returns -1 if there is no such step.
func (l *lane) lastBefore(at int64, yes func(*step) bool) int {
	i, _ := slices.BinarySearchFunc(l.steps, at, func(s step, at int64) int {
		if s.to <= at {
			return -1
		}
		return 1
	})
	for i--; i >= 0; i-- {
		if yes(&l.steps[i]) {
			return i
		}
	}
	return -1
}

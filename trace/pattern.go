package trace

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Without any step names, forward passes are recognised by repetition: every pass ends by sampling tokens, so the
// launches from one sampling to the next form a pass. On a pipeline stage that samples no tokens, a pass ends by
// sending its result to the next stage instead. If any pass does not fit the pattern, no passes are reported.

var (
	choosing = regexp.MustCompile(`(?i)arg_?max|sampling_?from|top_?k_?top_?p|multinomial|gumbel|distribution_\w*exponential|(\b|_)sampl(e|er|ing)(\b|_)`)
	passing  = regexp.MustCompile(`nccl\w*Kernel_SendRecv`)
	// Every match of choosing has one of these words. Without them, most names need no regular expression.
	choosingWords = []string{"max", "sampl", "top", "multinomial", "gumbel", "exponential"}
)

func chooser(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(choosingWords, func(w string) bool { return strings.Contains(lower, w) }) && choosing.MatchString(name)
}

const (
	leastPasses  = 3
	leastKernels = 8    // minimum number of kernels between two pass ends; pass ends closer together count as one
	alike        = 0.05 // largest relative difference in kernel count between similar passes
)

// launched is an API call that starts kernels or, in a trace without API calls, a kernel.
type launched struct {
	start, end    int64
	track         TrackID
	kernels       int
	blocks        int64 // total number of blocks in the grids
	graph         bool
	chooses, sent bool
	names         []StringID
}

// launches returns the calls that start kernels, in time order. It returns nil if more than a twentieth of the kernels
// have no call.
func launches(t *Trace) []launched {
	is, some := endings(t)
	if !some { // most processes without passes end here, without the cost of the list
		return nil
	}
	of := map[int64]int{} // correlation -> index in list
	var list []launched
	for i := range t.Spans {
		s := &t.Spans[i]
		if !s.Cat.Launch() {
			continue
		}
		l := launched{start: s.Start, end: s.End(), track: s.Track, graph: is[s.Name]&replays != 0}
		at, ok := of[s.Corr]
		switch {
		case s.Corr == 0 && !l.graph:
		case !ok || s.Corr == 0:
			of[s.Corr] = len(list)
			list = append(list, l)
		case list[at].end-list[at].start < s.Dur: // a driver call nested in the runtime call
			list[at] = l
		}
	}
	recorded := len(list) > 0
	kernels, lost := 0, 0
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat != Kernel {
			continue
		}
		at, ok := of[s.Corr]
		kernels++
		if recorded && (!ok || s.Corr == 0) {
			lost++
			continue
		}
		if !recorded {
			at = len(list)
			list = append(list, launched{start: s.Start, end: s.End()})
		}
		l := &list[at]
		l.kernels++
		l.names = append(l.names, s.Name)
		if g := t.Ops[s.Detail].Grid; g[0] > 0 {
			l.blocks += int64(g[0]) * int64(max(g[1], 1)) * int64(max(g[2], 1))
		}
		l.chooses, l.sent = l.chooses || is[s.Name]&chooses != 0, l.sent || is[s.Name]&sends != 0
	}
	if 20*lost > kernels {
		return nil
	}
	list = slices.DeleteFunc(list, func(l launched) bool { return l.kernels == 0 && !l.graph })
	slices.SortStableFunc(list, func(a, b launched) int { return cmp.Compare(a.start, b.start) })
	return list
}

// Flags for names of calls and kernels that may end a pass.
const (
	chooses = 1 << iota // a sampling kernel
	sends
	replays // a graph launch
	known
)

// endings classifies the names of calls and kernels. some reports whether any name may end a pass.
func endings(t *Trace) (is []uint8, some bool) {
	is = make([]uint8, t.Strings.Len())
	for i := range t.Spans {
		s := &t.Spans[i]
		if is[s.Name]&known != 0 || s.Cat != Kernel && !s.Cat.Launch() {
			continue
		}
		name := t.Strings.Get(s.Name)
		is[s.Name] = known
		for bit, match := range map[uint8]func(string) bool{chooses: chooser, sends: passing.MatchString, replays: IsGraphLaunch} {
			if match(name) {
				is[s.Name] |= bit
				some = true
			}
		}
	}
	return is, some
}

// patternPasses finds the passes by the last launch of each. It returns nil if the result would be uncertain.
func patternPasses(list []launched) []Pass {
	for _, ends := range []func(*launched) bool{
		func(l *launched) bool { return l.chooses },
		func(l *launched) bool { return l.sent },
	} {
		if parts := cutAt(list, ends); regular(parts) {
			return passesOf(parts)
		}
	}
	return nil
}

// withReplays adds the passes that replay a graph to calls, the passes found by module calls. A pass that replays a
// graph calls no modules.
func withReplays(calls []Pass, list []launched) []Pass {
	all := slices.Clone(calls)
	for _, p := range patternPasses(list) {
		i, _ := slices.BinarySearchFunc(calls, p.Start, func(c Pass, at int64) int { return cmp.Compare(c.End, at) })
		if p.Step.Mode == "graph" && (i == len(calls) || calls[i].Start >= p.End) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Pass) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// part holds the launches of one thread in one pass.
type part []launched

func (p part) kernels() (n int) {
	for i := range p {
		n += p[i].kernels
	}
	return n
}

// cutAt splits the launches of one thread, namely the thread that launches the pass ends, after each end. It drops the
// launches after the last end, since the end of the window cut off their pass.
func cutAt(list []launched, ends func(*launched) bool) (parts []part) {
	count := map[TrackID]int{}
	var thread TrackID
	for i := range list {
		if ends(&list[i]) {
			if count[list[i].track]++; count[list[i].track] > count[thread] {
				thread = list[i].track
			}
		}
	}
	mine := slices.DeleteFunc(slices.Clone(list), func(l launched) bool { return l.track != thread })
	from := 0
	for i := range mine {
		if !ends(&mine[i]) {
			continue
		}
		p := part(mine[from : i+1])
		if n := len(parts); n > 0 && p.kernels() < leastKernels {
			begin := from - len(parts[n-1])
			parts[n-1] = mine[begin : i+1]
		} else {
			parts = append(parts, p)
		}
		from = i + 1
	}
	if len(parts) > 1 && cutOff(parts[0], parts[1:]) {
		parts = parts[1:]
	}
	return parts
}

// cutOff reports whether p is the remainder of a pass that began before the window. This is the case if a larger part
// contains at least 90 % of p's kernels.
func cutOff(p part, others []part) bool {
	names := func(p part) map[StringID]int {
		n := map[StringID]int{}
		for i := range p {
			for _, name := range p[i].names {
				n[name]++
			}
		}
		return n
	}
	own, n := names(p), p.kernels()
	for _, o := range others {
		if float64(n) >= (1-alike)*float64(o.kernels()) {
			continue
		}
		both := 0
		for name, of := range names(o) {
			both += min(of, own[name])
		}
		if 10*both >= 9*n {
			return true
		}
	}
	return false
}

// regular reports whether the parts are passes: there are enough parts, no part is much smaller than the others, and
// most parts have about as many kernels as some other part.
func regular(parts []part) bool {
	if len(parts) < leastPasses {
		return false
	}
	var sizes []int
	for _, p := range parts {
		sizes = append(sizes, p.kernels())
	}
	slices.Sort(sizes)
	mid := sizes[len(sizes)/2]
	if sizes[0] < leastKernels || 4*sizes[0] < mid {
		return false
	}
	like := 0
	near := func(a, b int) bool { return float64(b-a) <= alike*float64(b) }
	for i, n := range sizes {
		if i > 0 && near(sizes[i-1], n) || i+1 < len(sizes) && near(n, sizes[i+1]) {
			like++
		}
	}
	return 2*like > len(parts)
}

// passesOf converts parts to passes and determines the kind of each. A pass that consists mostly of the replay of one
// graph is a decode step; the other passes are then prefills. If no graph is replayed, the passes with clearly larger
// grids than the others are prefills.
func passesOf(parts []part) []Pass {
	passes := make([]Pass, len(parts))
	blocks := make([]int64, len(parts))
	graphs := 0
	for i, p := range parts {
		s := Step{Mode: "pattern", Batch: -1, Tokens: -1}
		largest := 0
		for j := range p {
			blocks[i] += p[j].blocks
			if p[j].graph {
				largest = max(largest, p[j].kernels)
			}
		}
		if 2*largest > p.kernels() {
			s.Kind, s.Mode = Decode, "graph"
			graphs++
		}
		passes[i] = Pass{Start: p[0].start, End: p[len(p)-1].end, Track: p[0].track, Step: s}
	}
	limit := gap(blocks)
	for i := range passes {
		switch s := &passes[i].Step; {
		case graphs > 0 && s.Kind == OtherStep, graphs == 0 && limit > 0 && blocks[i] >= limit:
			s.Kind = Prefill
		case graphs == 0 && limit > 0:
			s.Kind = Decode
		}
	}
	return passes
}

// gap divides the numbers into a group of small and a group of large ones, at the largest ratio between two
// neighbouring numbers. It returns the smallest of the large numbers, or 0 if that ratio is less than 2.
func gap(of []int64) (limit int64) {
	sorted := slices.Sorted(slices.Values(of))
	best := 2.0
	for i, n := range sorted {
		if i > 0 && sorted[i-1] > 0 && float64(n)/float64(sorted[i-1]) >= best {
			best, limit = float64(n)/float64(sorted[i-1]), n
		}
	}
	return limit
}

// graphPasses treats each launch of a large graph as the start of a decode pass. The launches up to the next large
// graph belong to the pass, unless they are numerous enough to be a pass of their own. Small graphs are pieces of
// passes. If there are more than 1.5 large graphs per sampling, the large graphs are pieces of passes as well, and
// graphPasses returns nil.
func graphPasses(t *Trace, list []launched) []Pass {
	most, graphs, chosen := 0, 0, 0
	for i := range list {
		if l := &list[i]; l.chooses {
			chosen++
		}
		if list[i].graph {
			most = max(most, list[i].kernels)
		}
	}
	large := func(l *launched) bool { return l.graph && 2*l.kernels >= most }
	var passes []Pass
	after := 0 // kernels since the last pass began
	close := func(at, end int64) {
		n := len(passes) - 1
		if n < 0 {
			return
		}
		passes[n].End = end
		if most > 1 && 2*after > most {
			passes[n].End = at
		}
	}
	replayed := int64(0) // end of the last graph launch
	for i := range list {
		l := &list[i]
		if !large(l) {
			after += l.kernels
			continue
		}
		graphs++
		close(replayed, l.start)
		after, replayed = 0, l.end
		passes = append(passes, Pass{Start: l.start, Track: l.track, Step: Step{Kind: Decode, Mode: "graph", Batch: -1, Tokens: -1}})
	}
	if 2*graphs > 3*chosen && chosen > 0 {
		return nil
	}
	last := int64(0)
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.Launch() {
			last = max(last, s.End())
		}
	}
	close(replayed, last)
	return passes
}

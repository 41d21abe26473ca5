package analysis

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/metric"
	"github.com/stepscope/stepscope/trace"
)

// A server that waits for requests makes no steps, and its devices idle. That is no
// fault of its host, though the host launches nothing: between two steps a *pause* is
// told from a slow host by what the steps say of their requests.
//
//	a request is in a step before and in one after   the host's time, however long
//	none is                                          a pause, none was under way
//	the trace does not tell                          a pause if it is far longer than usual
//
// Either is a pause only above pauseLeast, which a scheduler may take between any two steps.
const (
	pauseLeast   = 1_000_000  // ns
	pausePrefill = 10_000_000 // ns: with prefills alone nothing shows what is usual
	pauseFactor  = 10         // times what is usual
	usualLeast   = 3          // of pauses with requests under way, to say what is usual
)

// under is whether requests were under way between a step and the next.
type under int8

const (
	untold under = iota
	someUnder
	noneUnder
)

// pauses are the times of a rank's host between steps in which no step was due as far
// as the trace tells, in time order, and those in which no request was under way.
type pauses struct{ all, none []interval }

// pauses finds them. Ranks make each step together, so a step was due when the first of
// them began it: where one is late the others show it.
func (a *analyzer) pauses(r *rank) (p pauses) {
	n := len(r.steps)
	if n < 2 || r.rule != trace.ByAnnotations {
		return p
	}
	told := r.requestsUnder()
	due := make([]int64, n) // on the rank's own clock
	for i := range r.steps {
		due[i] = r.steps[i].start
		for _, q := range a.ranks {
			at := i + r.first - q.first
			if q.t.Source.Rank.DP != r.t.Source.Rank.DP || at < 0 || at >= len(q.steps) {
				continue
			}
			ahead := r.wall(r.steps[i].start) - q.wall(q.steps[at].start)
			due[i] = min(due[i], r.steps[i].start-ahead)
		}
	}
	limit := r.unusual(told)
	for i := range n - 1 {
		from, to := r.steps[i].end, due[i+1]
		switch {
		case told[i] == noneUnder && to-from > pauseLeast:
			p.none = append(p.none, interval{from, to})
		case told[i] == untold && to-from > limit:
		default:
			continue
		}
		p.all = append(p.all, interval{from, to})
	}
	return p
}

// unusual is the time between steps above which one is a pause where nothing tells.
func (r *rank) unusual(told []under) int64 {
	var known, all []int64
	for i, u := range told {
		gap := r.steps[i+1].start - r.steps[i].end
		all = append(all, gap)
		if u == someUnder {
			known = append(known, gap)
		}
	}
	usual := int64(0)
	if len(known) >= usualLeast {
		usual = int64(metric.MedianInPlace(known))
	} else {
		// Pauses may be more than half of them.
		slices.Sort(all)
		usual = int64(metric.Quantile(all, 0.25))
	}
	limit := max(pauseLeast, pauseFactor*usual)
	if !slices.ContainsFunc(r.steps, func(s step) bool { return s.info.Kind != trace.Prefill }) {
		limit = min(limit, pausePrefill)
	}
	return limit
}

// requestsUnder tells, for each step but the last, whether requests were under way
// until the next: by their ids, else by numbers.
func (r *rank) requestsUnder() []under {
	n := len(r.steps)
	out := make([]under, n-1)
	last, named := map[string]int{}, true
	for i := range r.steps {
		ids := r.t.Strings.Get(r.steps[i].requests)
		if ids == "" && r.steps[i].info.Kind != trace.IdleStep {
			named = false
			break
		}
		for id := range strings.SplitSeq(ids, ",") {
			last[id] = i
		}
	}
	if !named {
		r.countUnder(out)
		return out
	}
	reach := 0 // the last step of all requests so far
	for i := range out {
		for id := range strings.SplitSeq(r.t.Strings.Get(r.steps[i].requests), ",") {
			reach = max(reach, last[id])
		}
		if out[i] = noneUnder; reach > i {
			out[i] = someUnder
		}
	}
	return out
}

// countUnder goes by batch sizes. A server that prefills makes no decode step of
// requests that were not there before; and if the decode step after some prefills has
// more requests than those brought, others went on through them. (A decode server, all
// of whose requests come from elsewhere, tells nothing; nor does a window of prefills.)
func (r *rank) countUnder(out []under) {
	prefills := slices.ContainsFunc(r.steps, func(s step) bool { return s.info.Kind == trace.Prefill || s.info.Kind == trace.Mixed })
	for i := range out {
		next := &r.steps[i+1].info
		switch {
		case next.Kind == trace.Decode && prefills, next.Kind == trace.Mixed && next.Batch > 1:
			out[i] = someUnder
		case next.Kind == trace.Prefill:
			brought := 0
			for j := i + 1; j < len(r.steps); j++ {
				s := &r.steps[j].info
				if s.Kind == trace.Prefill {
					brought += max(s.Batch, 0)
					continue
				}
				if s.Kind == trace.Decode && s.Batch > brought {
					out[i] = someUnder
				}
				break
			}
		}
	}
}

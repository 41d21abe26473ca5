package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// While a server waits for requests, it makes no steps and its devices are idle. The host launches nothing in that
// time, but is not slow. The requests of the steps distinguish such a *pause* between two steps from a slow host:
//
//	a request is in a step before and in one after   the host's time, however long
//	no request is                                    a pause: none was under way
//	the trace does not show it                       a pause if it is far longer than usual,
//	                                                 and no cold start took that time
//
// Pauses of both kinds must be longer than pauseLeast, because a scheduler may take that long between any two steps.
const (
	pauseLeast   = 1_000_000  // ns
	pausePrefill = 10_000_000 // ns: in a window of prefills alone, there is no usual time
	pauseFactor  = 10         // multiple of the usual time
	usualLeast   = 3          // minimum number of gaps with requests under way to determine the usual time
)

// under states whether requests were under way between a step and the next. Among ranks that step together, the largest
// value applies.
type under int8

const (
	unsaid under = iota // a step beside the gap is idle: only a rank with requests can decide
	noneUnder
	untold
	someUnder
)

// pause holds the intervals between the steps of one rank's host, in time order. all holds the intervals in which, as
// far as the trace shows, no step was due. none holds those intervals of all in which no request was under way.
type pause struct{ all, none []prep.Interval }

// Pauses holds the pauses by rank.
type Pauses []pause

// findPauses finds the pauses of each rank. Ranks that step together begin each step together if none is late. A step
// of a rank was therefore due when the first of these ranks began it, and requests were under way if any of these ranks
// had requests.
func findPauses(a *match.Aligned) Pauses {
	all := make([][]under, len(a.Ranks))
	for i, r := range a.Ranks {
		all[i] = requestsUnder(r.Rank)
	}
	out := make(Pauses, len(a.Ranks))
	for i, r := range a.Ranks {
		if n := len(r.Steps); n < 2 || r.Rule != trace.ByAnnotations {
			continue
		}
		told := slices.Clone(all[i])
		due := make([]int64, len(r.Steps)) // on the rank's own clock
		for i := range r.Steps {
			due[i] = r.Steps[i].Start
		}
		for j, q := range a.Ranks {
			if q == r || !together(a, r, q) {
				continue
			}
			theirs := all[j]
			for i := range r.Steps {
				at := i + r.First - q.First
				if at < 0 || at >= len(q.Steps) {
					continue
				}
				ahead := r.Wall(r.Steps[i].Start) - q.Wall(q.Steps[at].Start)
				due[i] = min(due[i], r.Steps[i].Start-ahead)
				if i < len(told) && at < len(theirs) {
					told[i] = max(told[i], theirs[at])
				}
			}
		}
		out[i] = pausesOf(r.Rank, told, due)
	}
	return out
}

func pausesOf(r *prep.Rank, told []under, due []int64) (p pause) {
	limit := unusual(r, told)
	for i := range told {
		from, to := r.Steps[i].End, due[i+1]
		switch {
		case r.Begins(i + 1): // the time between stretches is unknown
			continue
		case told[i] == noneUnder && to-from > pauseLeast:
			p.none = append(p.none, prep.Interval{Start: from, End: to})
		case (told[i] == untold || told[i] == unsaid) && to-from > limit && 2*coldTime(r, from, to) < to-from:
		default:
			continue
		}
		p.all = append(p.all, prep.Interval{Start: from, End: to})
	}
	return p
}

// coldTime returns how much time between from and to the rank's host spent on cold starts.
func coldTime(r *prep.Rank, from, to int64) (sum int64) {
	for i := range r.Cold {
		sum += max(0, min(r.Cold[i].End, to)-max(r.Cold[i].Start, from))
	}
	return sum
}

// together reports whether two ranks make the same steps. Ranks of one replica make the same steps. So do ranks of
// replicas that share collectives, as with data-parallel attention.
func together(a *match.Aligned, r, q *match.Rank) bool {
	x, y := &r.Source, &q.Source
	return x.Rank.DP == y.Rank.DP && x.Rank.PP == y.Rank.PP && x.Stage == y.Stage || slices.ContainsFunc(a.Domains, func(d *match.Domain) bool {
		return len(d.Matches) > 0 && slices.Contains(d.Ranks, r) && slices.Contains(d.Ranks, q)
	})
}

// unusual returns the limit for the time between two steps. If the requests do not decide, a time above this limit is a
// pause.
func unusual(r *prep.Rank, told []under) int64 {
	var known, all []int64
	for i, u := range told {
		if r.Begins(i+1) && i+2 < len(r.Steps) {
			continue
		}
		gap := r.Steps[i+1].Start - r.Steps[i].End
		all = append(all, gap)
		if u == someUnder {
			known = append(known, gap)
		}
	}
	usual := int64(0)
	if len(known) >= usualLeast {
		usual = int64(metric.MedianInPlace(known))
	} else {
		// Use a quantile below the median, since more than half of these gaps may be pauses.
		slices.Sort(all)
		usual = int64(metric.Quantile(all, 0.25))
	}
	limit := max(pauseLeast, pauseFactor*usual)
	if !slices.ContainsFunc(r.Steps, func(s prep.Step) bool { return s.Info.Kind != trace.Prefill }) {
		limit = min(limit, pausePrefill)
	}
	return limit
}

// requestsUnder determines, for each step but the last, whether requests were under way until the next step. It uses
// the IDs of the requests or, if steps lack IDs, the numbers of requests.
func requestsUnder(r *prep.Rank) []under {
	if len(r.Steps) < 2 {
		return nil
	}
	out := make([]under, len(r.Steps)-1)
	last, named := map[string]int{}, true
	for i := range r.Steps {
		ids := r.Steps[i].Requests
		if ids == "" && r.Steps[i].Info.Kind != trace.IdleStep {
			named = false
			break
		}
		for id := range strings.SplitSeq(ids, ",") {
			last[id] = i
		}
	}
	if !named {
		countUnder(r, out)
		return out
	}
	delete(last, "")
	reach := 0 // the last step that any request so far takes part in
	for i := range out {
		for id := range strings.SplitSeq(r.Steps[i].Requests, ",") {
			reach = max(reach, last[id])
		}
		switch {
		case reach > i:
			out[i] = someUnder
		case !idleBeside(r, i):
			out[i] = noneUnder
		}
	}
	return out
}

// idleBeside reports whether step i or step i+1 is idle.
func idleBeside(r *prep.Rank, i int) bool {
	return r.Steps[i].Info.Kind == trace.IdleStep || r.Steps[i+1].Info.Kind == trace.IdleStep
}

// countUnder decides by batch sizes. On a server that also prefills, a decode step contains only requests that were
// already there. If the decode step after some prefills has more requests than these prefills brought, other requests
// continued during the prefills. A server without prefills may be a decode server, which receives its requests from
// other servers. If a batch of several requests does not grow from one decode step to the next, requests continued: it
// is unlikely that all of them ended in one step and as many began in the next. A single request, however, may be a new
// one. A window with prefills alone shows nothing.
func countUnder(r *prep.Rank, out []under) {
	prefills := slices.ContainsFunc(r.Steps, func(s prep.Step) bool { return s.Info.Kind == trace.Prefill || s.Info.Kind == trace.Mixed })
	for i := range out {
		before, next := &r.Steps[i].Info, &r.Steps[i+1].Info
		if !idleBeside(r, i) {
			out[i] = untold
		}
		switch {
		case next.Kind == trace.Decode && prefills, next.Kind == trace.Mixed && next.Batch > 1,
			before.Kind == trace.Decode && next.Kind == trace.Decode && next.Batch > 1 && next.Batch <= before.Batch,
			next.Kind == trace.Denoising && next.Index > 0:
			out[i] = someUnder
		case next.Kind == trace.Prefill:
			brought := 0
			for j := i + 1; j < len(r.Steps); j++ {
				s := &r.Steps[j].Info
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

package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// A server that waits for requests makes no steps, and its devices idle. That is no
// fault of its host, though the host launches nothing: between two steps a *pause* is
// told from a slow host by what the steps say of their requests.
//
//	a request is in a step before and in one after   the host's time, however long
//	none is                                          a pause, none was under way
//	the trace does not tell                          a pause if it is far longer than usual,
//	                                                 and no cold start is what took it
//
// Either is a pause only above pauseLeast, which a scheduler may take between any two steps.
const (
	pauseLeast   = 1_000_000  // ns
	pausePrefill = 10_000_000 // ns: with prefills alone nothing shows what is usual
	pauseFactor  = 10         // times what is usual
	usualLeast   = 3          // of pauses with requests under way, to say what is usual
)

// under is whether requests were under way between a step and the next; of ranks that
// step together the largest holds.
type under int8

const (
	unsaid under = iota // beside an idle step: only ranks with requests can say
	noneUnder
	untold
	someUnder
)

// pauses are the times of a rank's host between steps in which no step was due as far
// as the trace tells, in time order, and those in which no request was under way.
type pause struct{ all, none []prep.Interval }

// Pauses are those of each rank.
type Pauses []pause

// findPauses finds them for each rank. Ranks make each step together, so a step was due
// when the first of them began it, and for the requests of any: where one is late the
// others show it.
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
		case r.Begins(i + 1): // what was between is not known
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

// coldTime is how much of a time a rank's host did what only the first use takes.
func coldTime(r *prep.Rank, from, to int64) (sum int64) {
	for i := range r.Cold {
		sum += max(0, min(r.Cold[i].End, to)-max(r.Cold[i].Start, from))
	}
	return sum
}

// together tells whether two ranks make the same steps: those of one replica do, and
// replicas that share collectives (data-parallel attention).
func together(a *match.Aligned, r, q *match.Rank) bool {
	x, y := &r.Source, &q.Source
	return x.Rank.DP == y.Rank.DP && x.Rank.PP == y.Rank.PP && x.Stage == y.Stage || slices.ContainsFunc(a.Domains, func(d *match.Domain) bool {
		return len(d.Matches) > 0 && slices.Contains(d.Ranks, r) && slices.Contains(d.Ranks, q)
	})
}

// unusual is the time between steps above which one is a pause where nothing tells.
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
		// Pauses may be more than half of them.
		slices.Sort(all)
		usual = int64(metric.Quantile(all, 0.25))
	}
	limit := max(pauseLeast, pauseFactor*usual)
	if !slices.ContainsFunc(r.Steps, func(s prep.Step) bool { return s.Info.Kind != trace.Prefill }) {
		limit = min(limit, pausePrefill)
	}
	return limit
}

// requestsUnder tells, for each step but the last, whether requests were under way
// until the next: by their ids, else by numbers.
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
	reach := 0 // the last step of all requests so far
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

// idleBeside tells whether a step or the next is idle.
func idleBeside(r *prep.Rank, i int) bool {
	return r.Steps[i].Info.Kind == trace.IdleStep || r.Steps[i+1].Info.Kind == trace.IdleStep
}

// countUnder goes by batch sizes. A server that prefills makes no decode step of
// requests that were not there before; and if the decode step after some prefills has
// more requests than those brought, others went on through them. Without prefills it may
// be a decode server, whose requests come from elsewhere: a batch of several that comes
// back no larger went on, or else all ended in one step and as many began in one, while a
// single request may be another. A window of prefills tells nothing.
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

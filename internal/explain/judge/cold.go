package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// A cold start becomes a finding if it costs at least coldLeast, and at least coldShare of a usual step. A cold start
// happens only once, so other ranks wait only in the step in which it happens.
const (
	coldLeast      = 1_000_000 // ns
	coldShare      = 0.1
	coldShareMid   = 1.0 // medium severity: the step took at least twice as long
	coldShareHigh  = 10.0
	coldMost       = 5 // maximum number of findings, the most expensive first
	coldMostProofs = 4
)

var coldRules = []rule{{[]string{result.ColdStart}, coldStarts}}

// coldStep is the cost of cold starts to a rank in one step.
type coldStep struct {
	rank  *match.Rank
	cost  int64
	n     int        // number of cold starts that cost more than a tenth of coldLeast
	most  *prep.Cold // the cold start with the highest cost
	worst int64
}

// coldStarts finds the steps that one-time work delayed. Host work while the device is busy delays nothing.
func coldStarts(c *capture) (out []result.Finding) {
	by := map[int][]coldStep{}
	for _, r := range c.Ranks {
		var busy []prep.Interval
		last := -1
		for i := range r.Cold {
			x := &r.Cold[i]
			if x.Step < 0 || x.Why == prep.ColdFirst && x.Call >= 0 && c.othersDoNot(r, x) {
				continue
			}
			if busy == nil {
				busy = busyTimes(r)
			}
			cost, step := x.End-x.Start-prep.Overlap(busy, x.Start, x.End), int(x.Step)+r.First
			if step != last {
				by[step], last = append(by[step], coldStep{rank: r}), step
			}
			s := &by[step][len(by[step])-1]
			s.cost += cost
			if cost > coldLeast/10 {
				s.n++
			}
			if s.most == nil || cost > s.worst {
				s.most, s.worst = x, cost
			}
		}
	}
	for n, ranks := range by {
		period := float64(c.StepPeriod(n))
		for i := range ranks {
			period = min(period, ranks[i].without())
		}
		ranks = slices.DeleteFunc(ranks, func(s coldStep) bool { return s.cost < coldLeast || float64(s.cost) < coldShare*period })
		if len(ranks) > 0 {
			out = append(out, coldStart(c, n, period, ranks))
		}
	}
	sorts.By(out, func(x, y result.Finding) int {
		return cmp.Or(cmp.Compare(y.CostNSPerStep, x.CostNSPerStep), cmp.Compare(x.FirstStep, y.FirstStep))
	})
	return out[:min(len(out), coldMost)]
}

// without returns the length of the step minus the time of its cold starts. This difference is the reference if the
// step is the only one of its kind. The result is infinite if the cold starts precede the step.
func (s *coldStep) without() float64 {
	if rest := s.rank.Period(int(s.most.Step)) - s.cost; rest > 0 && s.most.Start >= s.rank.Steps[s.most.Step].Start {
		return float64(rest)
	}
	return math.Inf(1)
}

// othersDoNot reports whether another rank launched the kernel for the first time in the same step without a delay. The
// host of this rank must then have stalled for another reason.
func (c *capture) othersDoNot(r *match.Rank, x *prep.Cold) bool {
	name := r.Ops[r.Calls[x.Call].Op].Name
	return slices.ContainsFunc(c.Ranks, func(q *match.Rank) bool {
		step := x.Step + int32(r.First-q.First)
		if q == r || slices.ContainsFunc(q.Cold, func(y prep.Cold) bool { return y.Step == step && 2*(y.End-y.Start) > x.End-x.Start }) {
			return false
		}
		first := slices.IndexFunc(q.Calls, func(k prep.Call) bool { return k.Op >= 0 && q.Ops[k.Op].Name == name })
		return first >= 0 && q.Calls[first].Step == step
	})
}

// busyTimes returns the intervals in which the rank's device was busy.
func busyTimes(r *match.Rank) []prep.Interval {
	busy := make([]prep.Interval, len(r.Ops))
	for i := range r.Ops {
		busy[i] = prep.Interval{Start: r.Ops[i].Start, End: r.Ops[i].End}
	}
	return prep.Union(busy)
}

func coldStart(c *capture, n int, period float64, ranks []coldStep) result.Finding {
	sorts.Stable(ranks, func(x, y coldStep) int { return cmp.Compare(y.cost, x.cost) })
	worst := ranks[0]
	f := result.Finding{
		Kind: result.ColdStart, Cause: result.CauseHost, FirstStep: n, LastStep: n, Passing: true,
		CostNSPerStep: worst.cost, ID: id(result.ColdStart, n),
	}
	switch share := float64(worst.cost) / period; {
	case share >= coldShareHigh:
		f.Severity = "high"
	case share >= coldShareMid:
		f.Severity = "medium"
	}
	why := fact.Of("cold_"+worst.most.Why, "before", before(c, &worst))
	for i := range ranks[:min(len(ranks), coldMostProofs)] {
		s := &ranks[i]
		did := fact.Of("cold_did", "rank", s.rank.Label, "ns", s.most.End-s.most.Start, "did", s.most.Name)
		if s.most.Why == prep.ColdFirst {
			did = fact.Of("cold_launch", "rank", s.rank.Label, "ns", s.most.End-s.most.Start+s.most.Like, "like", s.most.Like)
		}
		e := proof("ns", float64(s.cost), float64(s.most.Like), fact.Of("cold_proof", "did", did, "cost", s.cost, "more", moreOf(s.n)))
		e.Name, e.Step = fact.Name(s.most.Name), n
		f.Evidence = append(f.Evidence, e)
	}
	var names []string
	sorts.By(ranks, func(x, y coldStep) int { return cmp.Compare(x.rank.Index, y.rank.Index) })
	for i := range ranks {
		f.Ranks, names = append(f.Ranks, ranks[i].rank.Index), append(names, ranks[i].rank.Label)
	}
	var ahead fact.Fact
	next := n
	if i := int(worst.most.Step); i+1 < len(worst.rank.Steps) && worst.most.Start >= worst.rank.Steps[i].End {
		next = n + 1 // the host prepared the next step
		ahead = fact.Of("cold_ahead", "step", next, "name", ofName(c.rep.Steps[next].Name))
	}
	f.At = c.interval(worst.rank, worst.most.Interval, worst.most.Track, worst.most.Name)
	f.Title = fact.Of("cold_start", "step", n, "name", ofName(c.rep.Steps[n].Name), "ahead", ahead, "ranks", names, "why", why, "cost", worst.cost)
	size := fact.Name(c.rep.Steps[next].Name)
	if size.Text == "" {
		size = fact.Of("step_of_no_name", "n", next)
	}
	f.Next = []fact.Fact{fact.Of("warm_"+worst.most.Why, "step", size)}
	return f
}

// before names the kernel that a cold start delayed.
func before(c *capture, s *coldStep) (f fact.Fact) {
	if s.most.Call >= 0 {
		if call := &s.rank.Calls[s.most.Call]; call.Op >= 0 {
			f = fact.Of("cold_before", "kernel", c.Names.List[s.rank.Ops[call.Op].Name])
		}
	}
	return f
}

// moreOf states the number of cold starts in addition to the first.
func moreOf(n int) (f fact.Fact) {
	if n > 1 {
		f = fact.Of("cold_more", "n", n-1)
	}
	return f
}

// coldOf returns the finding of a cold start that explains most of a step's excess. The cold start is in the step, or
// at the beginning of the next step, before that step's first work on the device.
func coldOf(found []result.Finding, step int, excess float64) *result.Finding {
	for i := range found {
		if f := &found[i]; f.Kind == result.ColdStart && (f.FirstStep == step || f.FirstStep == step+1) && 2*float64(f.CostNSPerStep) > excess {
			return f
		}
	}
	return nil
}

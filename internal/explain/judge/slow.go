package judge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// A step is slow if it takes more than slowFactor times the median of similar steps, and exceeds that median by more
// than slowSpread times the spread of these steps.
const (
	slowFactor = 1.5
	slowSpread = 6
	slowLeast  = 5 // minimum number of similar steps for any of them to be called slow
)

// MarkSlow marks the steps that took much longer than similar steps.
func MarkSlow(a *match.Aligned, rep *result.Report, hostOps map[string][]int64) {
	steps := rep.Steps
	missing := slices.ContainsFunc(a.Domains, func(d *match.Domain) bool { return lacksRanks(a, d, rep) })
	type bucket struct {
		kind          string
		batch, tokens int // tokens by powers of two
	}
	longer := longerContexts(a)
	of := func(s *result.Step) bucket { return bucket{s.Kind, s.Batch, bits.Len(uint(max(s.Tokens, 0)))} }
	like := map[bucket][]int64{}
	for i := range steps {
		if s := &steps[i]; s.Step > 0 && len(s.Ranks) > 0 {
			like[of(s)] = append(like[of(s)], int64(took(a, s)))
		}
	}
	type usual struct{ mid, mad float64 }
	usually := map[bucket]usual{}
	for k, all := range like {
		usually[k] = usual{metric.Median(all), metric.MAD(all)}
	}
	kinds := map[string]*series{}
	for i := range steps {
		s := &steps[i]
		all := like[of(s)]
		if s.Step == 0 || len(all) < slowLeast || len(s.Ranks) == 0 {
			continue
		}
		mid, took := usually[of(s)].mid, math.Floor(took(a, s))
		alike := took - float64(longer[s.Step]) // length with contexts of the usual length
		if mid > 0 && alike > slowFactor*mid && alike-mid > slowSpread*usually[of(s)].mad {
			s.Slow, s.SlowBy = true, took/mid-1
			if kinds[s.Kind] == nil {
				kinds[s.Kind] = seriesOf(steps, hostOps, func(o *result.Step) bool { return o.Kind == s.Kind })
			}
			s.Why = grew(a, steps, hostOps, []int{s.Step}, kinds[s.Kind], took-mid, missing || !a.Whole(s.Step))
		}
	}
}

// took returns the length of a step in ns, as the median over ranks. It is the length on the device, less the time
// after the step in which no request was under way. If no GPU work was recorded, it is the length on the host.
func took(a *match.Aligned, s *result.Step) float64 {
	all := make([]int64, len(s.Ranks))
	for i := range s.Ranks {
		p := &s.Ranks[i]
		if all[i] = p.Total - p.Waiting; a.HostOnly {
			all[i] = p.CPU
		}
	}
	return metric.MedianInPlace(all)
}

var slowRules = []rule{
	{[]string{result.SlowStep}, slowSteps},
	{[]string{result.SlowSince}, slower},
}

// timeParts lists the parts of a step that may grow.
var timeParts = []struct {
	part fact.Fact
	of   func(*result.StepRank) int64
}{
	{fact.Of("part_compute"), func(t *result.StepRank) int64 { return t.Compute }},
	{fact.Of("part_wait"), func(t *result.StepRank) int64 { return t.ExposedWait }},
	{fact.Of("part_transfer"), func(t *result.StepRank) int64 { return t.Time.Transfer() }},
	{fact.Of("part_copy"), func(t *result.StepRank) int64 { return t.ExposedCopy }},
	{fact.Of("part_host"), func(t *result.StepRank) int64 { return t.HostGap }},
	{fact.Of("part_device"), func(t *result.StepRank) int64 { return t.IdleBy.Device + t.IdleBy.Unknown }},
	{fact.Of("part_between"), func(t *result.StepRank) int64 { return t.IdleBy.Between - t.IdleBy.None }},
	{fact.Of("part_profiler"), func(t *result.StepRank) int64 { return t.IdleBy.Profiler }},
}

// leastPart limits the parts that explain an excess: a part must account for at least 1/leastPart of the excess.
const leastPart = 4

// series has the values of some steps, sorted, by part of a step (over all ranks) and by CPU op.
type series struct {
	parts [][]int64
	ops   map[string][]int64
}

// seriesOf returns the values of the steps that include selects.
func seriesOf(steps []result.Step, hostOps map[string][]int64, include func(*result.Step) bool) *series {
	var of []int
	for i := range steps {
		if include(&steps[i]) {
			of = append(of, i)
		}
	}
	s := &series{ops: map[string][]int64{}}
	for i := range timeParts {
		s.parts = append(s.parts, partOf(steps, i, of))
		slices.Sort(s.parts[i])
	}
	for name, ns := range hostOps {
		s.ops[name] = pick(ns, of)
		slices.Sort(s.ops[name])
	}
	return s
}

// partOf returns the values of one of timeParts in steps, over all ranks.
func partOf(steps []result.Step, part int, of []int) (all []int64) {
	for _, n := range of {
		for j := range steps[n].Ranks {
			all = append(all, timeParts[part].of(&steps[n].Ranks[j]))
		}
	}
	return all
}

// grew names the part of a step that grew most from other steps of a series to these steps of it, by medians over steps
// and ranks. Without GPU work, it names the CPU op whose self time grew most, by means over ranks. A part that explains
// little of the excess (ns) does not count. lacking means that ranks are missing, so that waiting for the missing ranks
// looks like a transfer.
func grew(a *match.Aligned, steps []result.Step, hostOps map[string][]int64, these []int, all *series, excess float64, lacking bool) (grown fact.Fact) {
	if slices.ContainsFunc(a.Ranks, mistimed) {
		return fact.Of("wrong_times")
	}
	var best fact.Fact
	most := 0.0
	larger := func(part fact.Fact, by float64) {
		if by > most || by == most && by > 0 && a.HostOnly && part.Text < best.Text {
			best, most = part, by
		}
	}
	more := func(all, own []int64) float64 { return metric.MedianInPlace(own) - metric.MedianWithout(all, own) }
	for name, ns := range hostOps {
		larger(fact.Name(name), more(all.ops[name], pick(ns, these))/float64(len(a.Ranks)))
	}
	for i, p := range timeParts {
		part := p.part
		if lacking && part.Key == "part_transfer" {
			part = fact.Of("part_communication")
		}
		if !a.HostOnly {
			larger(part, more(all.parts[i], partOf(steps, i, these)))
		}
	}
	if most > 0 && most >= excess/leastPart {
		grown = fact.Of("grew", "what", best, "ns", most)
	}
	return grown
}

// or returns f, or other if f is empty.
func or(f, other fact.Fact) fact.Fact {
	if f.String() == "" {
		return other
	}
	return f
}

// culprit returns the rank that cost the other ranks the most in a step, with cause and cost.
func culprit(blames []*Domain, step int) (who *match.Rank, cause int, cost int64) {
	for _, d := range blames {
		for i, steps := range d.late {
			l := &steps[step]
			split := l.split()
			most := slices.Max(split[:])
			if l.cost > cost && most > 0 {
				who, cause, cost = d.Ranks[i], slices.Index(split[:], most), l.cost
			}
		}
	}
	return who, cause, cost
}

// slowSteps reports slow steps that no straggler explains.
func slowSteps(c *capture) (out []result.Finding) {
	for i := range c.rep.Steps {
		s := &c.rep.Steps[i]
		if !s.Slow {
			continue
		}
		took := took(c.Aligned, s)
		excess := took - took/(1+s.SlowBy)
		if slices.ContainsFunc(c.found, func(f result.Finding) bool {
			// A late host leaves the device idle at the end of the preceding step, too.
			return f.Kind == result.Straggler && (f.FirstStep <= s.Step || f.Cause == result.CauseHost && f.FirstStep == s.Step+1) &&
				s.Step <= f.LastStep && 2*float64(f.CostNSPerStep) > excess
		}) {
			continue
		}
		f := result.Finding{
			Kind: result.SlowStep, FirstStep: s.Step, LastStep: s.Step, Passing: true, CostNSPerStep: int64(excess),
			ID: id(result.SlowStep, s.Step),
		}
		var blame fact.Fact
		chance := slices.ContainsFunc(c.found, func(f result.Finding) bool { return f.Starved }) // cores are lacking
		if r, cause, cost := culprit(c.blames, s.Step); r != nil && 2*float64(cost) > excess && !chance {
			f.Ranks, f.Cause = []int{r.Index}, causeNames[cause]
			blame = fact.Of("slow_step_blame", "rank", r.Label, "cost", cost, "cause", f.Cause)
		}
		why := or(s.Why, fact.Of("no_part_of_it"))
		if cold := coldOf(c.found, s.Step, excess); cold != nil {
			why = fact.Of("slow_cold", "why", cold.Title.Get("why"), "cost", cold.CostNSPerStep)
		}
		f.Title = fact.Of("slow_step", "step", s.Step, "name", ofName(s.Name), "took", took, "by", s.SlowBy, "share", fact.Fact{}, "why", why, "blame", blame)
		out = append(out, f)
	}
	out = c.stalls(out)
	// If many steps are slow, there is no typical step, and reporting the few worst is enough.
	sorts.Stable(out, func(x, y result.Finding) int { return cmp.Compare(y.CostNSPerStep, x.CostNSPerStep) })
	return out[:min(len(out), 5)]
}

// slowerRise is the minimum relative growth of steps that becomes a finding if it lasts.
const slowerRise = 0.15

// slower finds kinds of steps that take longer on all ranks from some step on. It leaves out growth that a straggler or
// slower transfers explain.
func slower(c *capture) (out []result.Finding) {
	if c.lostRank() { // this rank may be late
		return nil
	}
	by := map[match.Like][]int{}
	total, longer := make([]int64, c.Steps), longerContexts(c.Aligned)
	var order []match.Like
	which, lacking := fact.Of("all_ranks"), c.partial()
	if lacking {
		which = fact.Of("recorded_ranks")
	}
	for n := 1; n < c.Steps; n++ {
		if len(c.rep.Steps[n].Ranks) == 0 || !c.Whole(n) {
			continue
		}
		total[n] = int64(took(c.Aligned, &c.rep.Steps[n])) - longer[n]
		if by[c.Likes[n]] == nil {
			order = append(order, c.Likes[n])
		}
		by[c.Likes[n]] = append(by[c.Likes[n]], n)
	}
	for _, k := range order {
		steps := by[k]
		s := changePoint(steps, total)
		if s < 0 {
			continue
		}
		before, after := pick(total, steps[:s]), pick(total, steps[s:])
		slices.Sort(before)
		slices.Sort(after)
		was, is := metric.Quantile(before, 0.5), metric.Quantile(after, 0.5)
		first := steps[s]
		if is < (1+slowerRise)*was || metric.Quantile(after, 0.1) <= metric.Quantile(before, 0.9) ||
			slices.ContainsFunc(c.found, func(f result.Finding) bool {
				return (f.Kind == result.Straggler || f.Kind == result.SlowLink) && f.FirstStep <= first+1 && f.LastStep >= first
			}) {
			continue
		}
		both := map[int]bool{}
		for _, n := range steps {
			both[n] = true
		}
		all := seriesOf(c.rep.Steps, c.hostOps, func(s *result.Step) bool { return both[s.Step] })
		f := result.Finding{
			Kind: result.SlowSince, FirstStep: first, LastStep: steps[len(steps)-1],
			CostNSPerStep: int64(is - was), ID: id(result.SlowSince, k.Kind, first),
			Title: fact.Of("slow_since", "kind", c.rep.Said(k.Kind.String()), "more", is/was-1, "which", which, "first", first,
				"why", or(grew(c.Aligned, c.rep.Steps, c.hostOps, steps[s:], all, is-was, lacking), fact.Of("no_part_of_them"))),
			Evidence: []result.Evidence{proof("ns", is, was, fact.Of("before", "is", is, "was", was))},
		}
		for _, r := range c.Ranks {
			f.Ranks = append(f.Ranks, r.Index)
		}
		out = append(out, f)
	}
	return out
}

// ofName formats the name of a step, if it has one.
func ofName(name string) fact.Fact {
	if name == "" {
		return fact.Fact{}
	}
	return fact.Of("of_name", "name", name)
}

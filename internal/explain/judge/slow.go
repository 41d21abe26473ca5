package judge

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Slow steps take slowFactor of the median of their like and more than
// slowSpread times its spread.
const (
	slowFactor = 1.5
	slowSpread = 6
	slowLeast  = 5 // steps of a kind, below which none is called slow
)

// MarkSlow marks the steps that took much longer than their like.
func MarkSlow(a *match.Aligned, steps []result.Step, hostOps map[string][]int64) {
	type bucket struct {
		kind          string
		batch, tokens int // tokens by powers of two
	}
	of := func(s *result.Step) bucket { return bucket{s.Kind, s.Batch, bits.Len(uint(max(s.Tokens, 0)))} }
	like := map[bucket][]int64{}
	for i := range steps {
		if s := &steps[i]; s.Step > 0 && len(s.Ranks) > 0 {
			like[of(s)] = append(like[of(s)], int64(took(a, s)))
		}
	}
	for i := range steps {
		s := &steps[i]
		all := like[of(s)]
		if s.Step == 0 || len(all) < slowLeast || len(s.Ranks) == 0 {
			continue
		}
		mid, took := metric.Median(all), math.Floor(took(a, s))
		if mid > 0 && took > slowFactor*mid && took-mid > slowSpread*metric.MAD(all) {
			s.Slow, s.SlowBy = true, took/mid-1
			var others []int
			for i := range steps {
				if o := &steps[i]; o.Kind == s.Kind && o.Step != s.Step {
					others = append(others, i)
				}
			}
			s.Why = grew(a, steps, hostOps, []int{s.Step}, others)
		}
	}
}

// took is how long a step was, the median over ranks: on the device, without what
// followed when no request was under way, or on the host if there is no device.
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

// timeParts are the parts of a step that can grow, for people.
var timeParts = []struct {
	name string
	of   func(*result.StepRank) int64
}{
	{"compute", func(t *result.StepRank) int64 { return t.Compute }},
	{"waiting in collectives", func(t *result.StepRank) int64 { return t.ExposedWait }},
	{"transfers", func(t *result.StepRank) int64 { return t.ExposedComm - t.ExposedWait }},
	{"copies", func(t *result.StepRank) int64 { return t.ExposedCopy }},
	{"host-bound idle", func(t *result.StepRank) int64 { return t.HostGap }},
	{"idle on the device", func(t *result.StepRank) int64 { return t.IdleBy.Device + t.IdleBy.Unknown }},
	{"the time until the next, in which nothing tells whether there were requests,", func(t *result.StepRank) int64 { return t.IdleBy.Between - t.IdleBy.None }},
	{"the profiler", func(t *result.StepRank) int64 { return t.IdleBy.Profiler }},
}

// grew names the part that is most larger in some steps than in others, by medians
// over steps and ranks; without GPU work the CPU op whose self time is, the mean over
// ranks.
func grew(a *match.Aligned, steps []result.Step, hostOps map[string][]int64, these, others []int) string {
	best, most := "", 0.0
	larger := func(name string, by float64) {
		if by > most || by == most && by > 0 && a.HostOnly && name < best {
			best, most = name, by
		}
	}
	for name, ns := range hostOps {
		larger(name, (metric.MedianInPlace(pick(ns, these))-metric.MedianInPlace(pick(ns, others)))/float64(len(a.Ranks)))
	}
	for _, p := range timeParts {
		of := func(in []int) float64 {
			var all []int64
			for _, n := range in {
				for j := range steps[n].Ranks {
					all = append(all, p.of(&steps[n].Ranks[j]))
				}
			}
			return metric.MedianInPlace(all)
		}
		if !a.HostOnly {
			larger(p.name, of(these)-of(others))
		}
	}
	if best == "" {
		return ""
	}
	return best + " grew by " + metric.Duration(most)
}

// slowerRise is the growth of steps from some step on that is worth a finding.
const slowerRise = 0.15

// slower finds steps that take longer on all ranks from some step on. What a
// straggler explains, or slower transfers, is left to them.
func slower(a *match.Aligned, rep *result.Report, hostOps map[string][]int64, known []result.Finding) []result.Finding {
	by := map[match.Like][]int{}
	total := make([]int64, a.Steps)
	var order []match.Like
	for n := 1; n < a.Steps; n++ {
		if len(rep.Steps[n].Ranks) == 0 {
			continue
		}
		total[n] = int64(took(a, &rep.Steps[n]))
		if by[a.Likes[n]] == nil {
			order = append(order, a.Likes[n])
		}
		by[a.Likes[n]] = append(by[a.Likes[n]], n)
	}
	var out []result.Finding
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
			slices.ContainsFunc(known, func(f result.Finding) bool {
				return (f.Kind == result.Straggler || f.Kind == result.SlowLink) && f.FirstStep <= first+1 && f.LastStep >= first
			}) {
			continue
		}
		f := result.Finding{
			Kind: result.SlowSince, Severity: "medium", FirstStep: first, LastStep: steps[len(steps)-1],
			CostNSPerStep: int64(is - was), ID: fmt.Sprintf("%s-%s-%d", result.SlowSince, k.Kind, first),
			Title: fmt.Sprintf("%s steps take %s longer on all ranks since step %d: %s", k.Kind, metric.Percent(is/was-1), first,
				cmp.Or(grew(a, rep.Steps, hostOps, steps[s:], steps[:s]), "no part of them stands out")),
			Evidence: []result.Evidence{{
				Text:  fmt.Sprintf("%s a step, %s before", metric.Duration(is), metric.Duration(was)),
				Value: is, Peers: was, Unit: "ns", Step: -1,
			}},
		}
		for _, r := range a.Ranks {
			f.Ranks = append(f.Ranks, r.Index)
		}
		out = append(out, f)
	}
	return out
}

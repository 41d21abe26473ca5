package explain

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// Slow steps take slowFactor of the median of their like and more than
// slowSpread times its spread.
const (
	slowFactor = 1.5
	slowSpread = 6
	slowLeast  = 5 // steps of a kind, below which none is called slow
)

// markSlow marks the steps that took much longer than their like.
func (a *analyzer) markSlow() {
	type bucket struct {
		kind   string
		batch  int
		tokens int
	}
	like := map[bucket][]int64{}
	length := func(s *Step) int64 {
		var p []int64
		for i := range s.Ranks {
			p = append(p, a.took(&s.Ranks[i]))
		}
		if len(p) == 0 {
			return 0
		}
		return int64(metric.MedianInPlace(p))
	}
	for i := range a.report.Steps {
		s := &a.report.Steps[i]
		if s.Step > 0 && len(s.Ranks) > 0 {
			like[bucket{s.Kind, s.Batch, bits.Len(uint(max(s.Tokens, 0)))}] = append(like[bucket{s.Kind, s.Batch, bits.Len(uint(max(s.Tokens, 0)))}], length(s))
		}
	}
	for i := range a.report.Steps {
		s := &a.report.Steps[i]
		all := like[bucket{s.Kind, s.Batch, bits.Len(uint(max(s.Tokens, 0)))}]
		if s.Step == 0 || len(all) < slowLeast || len(s.Ranks) == 0 {
			continue
		}
		mid := metric.Median(all)
		took := float64(length(s))
		if mid > 0 && took > slowFactor*mid && took-mid > slowSpread*metric.MAD(all) {
			s.Slow, s.SlowBy = true, took/mid-1
			s.Why = a.whySlow(s)
		}
	}
}

// took is how long a rank's step was: on the device, without what followed when no
// request was under way, or on the host if there is no device.
func (a *analyzer) took(s *StepRank) int64 {
	if a.hostOnly {
		return s.CPU
	}
	return s.Total - s.waiting
}

// timeParts are the parts of a step that can grow, for people.
var timeParts = []struct {
	name string
	of   func(*StepRank) int64
}{
	{"compute", func(t *StepRank) int64 { return t.Compute }},
	{"waiting in collectives", func(t *StepRank) int64 { return t.ExposedWait }},
	{"transfers", func(t *StepRank) int64 { return t.ExposedComm - t.ExposedWait }},
	{"copies", func(t *StepRank) int64 { return t.ExposedCopy }},
	{"host-bound idle", func(t *StepRank) int64 { return t.HostGap }},
	{"idle on the device", func(t *StepRank) int64 { return t.IdleBy.Device + t.IdleBy.Unknown }},
	{"the time until the next, in which nothing tells whether there were requests,", func(t *StepRank) int64 { return t.IdleBy.Between - t.IdleBy.none }},
	{"the profiler", func(t *StepRank) int64 { return t.IdleBy.Profiler }},
}

// grew names the part that is most larger in some steps than in others, by
// medians over steps and ranks.
func (a *analyzer) grew(these, others []int) string {
	if a.hostOnly {
		return a.opGrew(these, others)
	}
	best, most := "", 0.0
	for _, p := range timeParts {
		of := func(steps []int) float64 {
			var all []int64
			for _, n := range steps {
				for j := range a.report.Steps[n].Ranks {
					all = append(all, p.of(&a.report.Steps[n].Ranks[j]))
				}
			}
			return metric.MedianInPlace(all)
		}
		if g := of(these) - of(others); g > most {
			best, most = p.name, g
		}
	}
	if best == "" {
		return ""
	}
	return best + " grew by " + metric.Duration(most)
}

// opGrew names the CPU op whose self time is most larger in some steps than in
// others, the mean over ranks, by medians over steps.
func (a *analyzer) opGrew(these, others []int) string {
	if a.hostOps == nil {
		a.hostOps = map[string][]int64{}
		for _, r := range a.ranks {
			add := func(s *trace.Span, ns int64) {
				step := r.stepAt(s.Start)
				if step < 0 || s.Track != r.steps[step].track {
					return
				}
				name := r.spanName(s.Name, true)
				if a.hostOps[name] == nil {
					a.hostOps[name] = make([]int64, a.steps)
				}
				a.hostOps[name][int(step)+r.first] += ns
			}
			r.nest(func(c trace.Category) bool { return c == trace.CPUOp || c == trace.UserAnnotation }, func(s, parent *trace.Span, dur int64) {
				add(s, dur)
				if parent != nil {
					add(parent, -dur)
				}
			})
		}
	}
	best, most := "", 0.0
	for name, ns := range a.hostOps {
		g := (metric.MedianInPlace(pick(ns, these)) - metric.MedianInPlace(pick(ns, others))) / float64(len(a.ranks))
		if g > most || g == most && g > 0 && name < best {
			best, most = name, g
		}
	}
	if best == "" {
		return ""
	}
	return best + " grew by " + metric.Duration(most)
}

// whySlow names the part of a slow step that grew most against its kind.
func (a *analyzer) whySlow(s *Step) string {
	var others []int
	for i := range a.report.Steps {
		if o := &a.report.Steps[i]; o.Kind == s.Kind && o.Step != s.Step {
			others = append(others, i)
		}
	}
	return a.grew([]int{s.Step}, others)
}

// slowerRise is the growth of steps from some step on that is worth a finding.
const slowerRise = 0.15

// slower finds steps that take longer on all ranks from some step on. What a
// straggler explains, or slower transfers, is left to them.
func (a *analyzer) slower(known []Finding) []Finding {
	by := map[like][]int{}
	total := make([]int64, a.steps)
	var order []like
	for n := 1; n < a.steps; n++ {
		var t []int64
		for j := range a.report.Steps[n].Ranks {
			t = append(t, a.took(&a.report.Steps[n].Ranks[j]))
		}
		if len(t) == 0 {
			continue
		}
		total[n] = int64(metric.MedianInPlace(t))
		if by[a.likes[n]] == nil {
			order = append(order, a.likes[n])
		}
		by[a.likes[n]] = append(by[a.likes[n]], n)
	}
	var out []Finding
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
			slices.ContainsFunc(known, func(f Finding) bool {
				return (f.Kind == Straggler || f.Kind == SlowLink) && f.FirstStep <= first+1 && f.LastStep >= first
			}) {
			continue
		}
		f := Finding{
			Kind: SlowSince, Severity: "medium", FirstStep: first, LastStep: steps[len(steps)-1],
			CostNSPerStep: int64(is - was), ID: fmt.Sprintf("%s-%s-%d", SlowSince, k.kind, first),
			Title: fmt.Sprintf("%s steps take %s longer on all ranks since step %d: %s", k.kind, metric.Percent(is/was-1), first,
				cmp.Or(a.grew(steps[s:], steps[:s]), "no part of them stands out")),
			Evidence: []Evidence{{
				Text:  fmt.Sprintf("%s a step, %s before", metric.Duration(is), metric.Duration(was)),
				Value: is, Peers: was, Unit: "ns", Step: -1,
			}},
		}
		for _, r := range a.ranks {
			f.Ranks = append(f.Ranks, r.index)
		}
		out = append(out, f)
	}
	return out
}

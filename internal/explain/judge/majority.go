package judge

import (
	"math/rand/v2"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file handles lateness of many ranks: of several or most ranks together, or of ranks in turns.

// earlySteps finds the steps in which most ranks are late together, and returns the few ranks that wait in each. In
// such a step, the rank with the median arrival is itself late, so single collectives show no late rank. But the total
// waits over the step separate two groups: ranks that wait nearly as long as the longest-waiting rank, and ranks that
// hardly wait.
func (d *Domain) earlySteps() map[int][]int32 {
	waits := map[int][]int64{}
	for i := range d.Matches {
		m := &d.Matches[i]
		if m.First || !m.Possible() || len(m.At) < len(d.Ranks) {
			continue
		}
		if waits[m.Step] == nil {
			waits[m.Step] = make([]int64, len(d.Ranks))
		}
		for _, p := range m.At {
			waits[m.Step][p.Rank] += p.Wait
		}
	}
	out := map[int][]int32{}
	for step, w := range waits {
		most := slices.Max(w)
		var early []int32
		apart := most > lateFloor
		for i, ns := range w {
			switch {
			case 4*ns >= 3*most:
				early = append(early, int32(i))
			case 4*ns > most:
				apart = false
			}
		}
		if apart && 2*len(early) < len(d.Ranks) {
			out[step] = early
		}
	}
	return out
}

// shareEqual joins findings into one if they blame several ranks for the same cause in the same steps: if they blame
// most ranks, so that the ranks that wait are the exception, or if the ranks are about equally late. Mending one of
// equally late ranks alone would gain nothing.
func shareEqual(a *match.Aligned, d *Domain, verdicts []verdict, all []result.Finding) []result.Finding {
	for _, f := range all {
		alike := func(o result.Finding) bool {
			return o.Kind == result.Straggler && o.Cause == f.Cause && len(o.Ranks) == 1 && !o.Starved && !o.Still && together(&f, &o)
		}
		if f.Cause == result.CauseCommunication || !alike(f) {
			continue
		}
		one, rest, names := d.share(all, alike)
		if most := one != nil; !most {
			one, rest, names = d.join(all, func(o result.Finding) bool {
				return alike(o) && o.Reason == f.Reason && o.Passing == f.Passing &&
					2*min(o.CostNSPerStep, f.CostNSPerStep) >= max(o.CostNSPerStep, f.CostNSPerStep)
			})
			if len(one.Ranks) < 2 {
				continue
			}
			one.Reason = f.Reason
			// The cost of each rank counts the other late ranks among those that do not wait.
			one.CostNSPerStep = one.CostNSPerStep * int64(len(d.Ranks)-1) / int64(len(d.Ranks)-len(one.Ranks))
			one.Evidence = ofRank(&f, d.Ranks[d.at(f.Ranks[0])].Label)
		} else if len(one.Ranks) == len(d.Ranks) {
			continue
		} else {
			if !slices.ContainsFunc(all, func(o result.Finding) bool { return alike(o) && o.Reason != f.Reason }) {
				one.Reason = f.Reason
			}
			for _, e := range one.Evidence { // cost of each rank; the early ranks wait for the latest
				one.CostNSPerStep = max(one.CostNSPerStep, int64(e.Value))
			}
		}
		one.Kind, one.Cause, one.Severity, one.Steps = result.Straggler, f.Cause, f.Severity, f.Steps
		one.ID = id(result.Straggler, names[0], "and", len(names)-1, f.Cause, one.FirstStep)
		d.titleEqual(one, &f, names)
		run := lateRun{cause: slices.Index(causeNames[:], f.Cause), steps: f.Steps}
		var late []int
		for _, r := range one.Ranks {
			late = append(late, d.at(r))
		}
		one.Plain = run.cause == byWork && d.runMore(late, run.steps)
		one.P = byLabels(a, d, verdicts, &run, late...)
		return shareEqual(a, d, verdicts, append(rest, *one))
	}
	return all
}

// together reports whether two findings share three quarters of their time and of their steps.
func together(f, o *result.Finding) bool {
	both := min(f.LastStep, o.LastStep) - max(f.FirstStep, o.FirstStep) + 1
	if 4*both < 3*max(f.LastStep-f.FirstStep+1, o.LastStep-o.FirstStep+1) {
		return false
	}
	shared, in := 0, map[int]bool{}
	for _, n := range f.Steps {
		in[n] = true
	}
	for _, n := range o.Steps {
		if in[n] {
			shared++
		}
	}
	return 4*shared >= 3*max(len(f.Steps), len(o.Steps))
}

// at returns the index in d.Ranks of a rank of the capture.
func (d *Domain) at(rank int) int {
	return slices.IndexFunc(d.Ranks, func(r *match.Rank) bool { return r.Index == rank })
}

// titleEqual sets the title of a finding on several equally late ranks. f is the finding on one of them. If most ranks
// have been late since the window began, the other ranks are called faster.
func (d *Domain) titleEqual(one, f *result.Finding, names []string) {
	var others []string
	var late []int
	for i, r := range d.Ranks {
		if slices.Contains(one.Ranks, r.Index) {
			late = append(late, i)
		} else {
			others = append(others, r.Label)
		}
	}
	begin, _ := d.Common()
	if 2*len(late) > len(d.Ranks) && one.FirstStep <= begin+1 && one.Reason == "" {
		is := fact.Of("is")
		if len(others) > 1 {
			is = fact.Of("are")
		}
		one.Title = fact.Of("faster", "others", others, "is", is, "n", len(late), "why", fact.Of("sooner_"+f.Cause), "cost", fact.Of("faster_cost", "cost", one.CostNSPerStep))
		return
	}
	one.Title = fact.Of("several", "n", len(late), "of", len(d.Ranks), "ranks", names, "when", f.Title.Get("when"), "why", d.theyAre(f, late),
		"cost", fact.Of("several_cost", "others", others, "cost", one.CostNSPerStep))
}

// ofRank returns the evidence of a finding on one rank as evidence of a finding on several ranks. The title of the
// latter compares the numbers of kernels.
func ofRank(f *result.Finding, label string) (out []result.Evidence) {
	for _, e := range f.Evidence {
		if e.Text.Key != "kernels_differ" {
			e.Text = fact.Of("of_rank", "rank", label, "what", e.Text)
			out = append(out, e)
		}
	}
	return out
}

// theyAre returns why several ranks are late, from the finding on one of them.
func (d *Domain) theyAre(f *result.Finding, late []int) fact.Fact {
	why, _ := f.Title.Get("why").(fact.Fact)
	switch why.Key {
	case "late_" + f.Cause:
		why = fact.Of("they_" + f.Cause)
	case "late_shared":
		why = fact.Of("they_shared")
	case "late_configuration":
		why = fact.Of("they_configuration")
	case "late_experts":
		why = fact.Of("they_experts")
	case "late_requests", "late_tokens", "late_contexts": // the figures are those of one rank
		why = fact.Of("they_work")
	}
	mine, peers := d.kernels(late, f.Steps)
	if f.Cause == result.CauseWork && f.Reason == "" && mine > peers {
		why = fact.Of("several_kernels", "mine", mine, "peers", peers)
	}
	return why
}

// chance is the significance level: lateness counts if the probability of equally frequent lateness by chance is at
// most this value.
const chance = 0.1

// ledBy considers the late steps. It ignores late steps that cost far less than the steps of run r, since such steps
// are unrelated to the run. of holds the costs of the steps considered. led holds the costs of those steps in which
// rank i is the latest.
func ledBy(v *verdict, i int, r *lateRun, late []lateStep) (led, of []int64) {
	var costs []int64
	for _, n := range r.steps {
		if v.yes[r.cause][n] {
			costs = append(costs, v.split[n][r.cause])
		}
	}
	least := r.least() * metric.MedianInPlace(costs)
	for _, l := range late {
		if float64(l.cost) >= least {
			of = append(of, l.cost)
			if l.worst == i {
				led = append(led, l.cost)
			}
		}
	}
	return led, of
}

// least returns the share of the median cost of the steps of a run below which the cost of a step has another cause.
func (r *lateRun) least() float64 {
	if r.peaks {
		return 1.0 / peakRatio
	}
	return levelShare
}

// likely reports whether led may be due to chance. It assigns each step in of to a random rank. The result is true if,
// with a probability above chance, the total cost assigned to some rank is at least the total of led.
func likely(ranks int, led, of []int64) bool {
	var least int64
	for _, ns := range led {
		least += ns
	}
	random := rand.New(rand.NewPCG(1, 2)) // fixed seed: the same capture gives the same report
	sums, hits := make([]int64, ranks), 1
	for range mostLabels {
		clear(sums)
		for _, ns := range of {
			sums[random.IntN(ranks)] += ns
		}
		if slices.Max(sums) >= least {
			hits++
		}
		if float64(hits)/(mostLabels+1) > chance {
			return true
		}
	}
	return false
}

// byChance drops passing lateness that chance explains. Chance explains the lateness if, with the late rank of each
// step drawn at random, some rank would lead as often with a probability above chance. If no other rank is late, chance
// explains nothing. byChance reports whether it dropped runs and left no run of the cause that begins before step
// until.
func byChance(all []verdict, c int, late []lateStep, until int) (nothing bool) {
	dropped, left := false, false
	for i := range all {
		v := &all[i]
		v.runs = slices.DeleteFunc(v.runs, func(r lateRun) bool {
			if r.cause != c || r.steps[0] >= until || r.still != nil {
				return false
			}
			led, of := ledBy(v, i, &r, late)
			drop := !r.stays && len(led) < len(of) && likely(len(all), led, of)
			dropped = dropped || drop
			left = left || !drop
			return drop
		})
	}
	return dropped && !left
}

// apart removes from late the steps of stretches in which ranks do not take turns. Such stretches cost far more than
// other late steps, and one rank is the latest more often than chance explains, or recur so regularly that chance does
// not explain it. steps are the steps in which ranks are compared.
func apart(all []verdict, c int, late []lateStep, steps []int) (rest []lateStep, of map[*lateRun]bool) {
	of, rest = map[*lateRun]bool{}, slices.Clone(late)
	for i := range all {
		v := &all[i]
		for k := range v.runs {
			r := &v.runs[k]
			if r.cause != c || r.still != nil {
				continue
			}
			led, n := ledBy(v, i, r, late)
			if r.peaks && byPeriod(len(all), len(n)-len(led), steps, r.steps) <= falseShare || 2*len(n) < len(late) && !likely(len(all), led, n) {
				of[r] = true
				in := setOf(r.steps)
				rest = slices.DeleteFunc(rest, func(l lateStep) bool { return l.worst == i && in[l.step] })
			}
		}
	}
	return rest, of
}

// Limits for a moving imbalance: the minimum number of changes of the latest rank, the minimum share of steps with a
// late rank, and the maximum share of these steps in which any one rank is late.
const (
	leastChanges = 3
	movingShare  = 0.25
	movingMost   = 0.6
)

// moving finds causes that make one rank late in one step and another rank in the next, such as experts with unequal
// shares of the tokens. It reports each cause as one finding that blames no single rank, and drops the runs that this
// finding covers.
func moving(a *match.Aligned, d *Domain, all []verdict) (out []result.Finding) {
	begin, end := d.Common()
	var steps []int
	for n := begin; n < end; n++ {
		steps = append(steps, n)
	}
	for c := range numCauses {
		if c == byComm || c == byUnknown {
			continue // links take turns by nature; shareLinks handles them
		}
		late := lateSteps(a, all, c, begin, end)
		until := end
		if from := standsOut(all, c, late); from >= 0 {
			until = from
			late = slices.DeleteFunc(late, func(l lateStep) bool { return l.step >= from })
		}
		rest, keep := apart(all, c, late, steps)
		if !takesTurns(all, rest, until-begin) {
			if !byChance(all, c, late, until) {
				continue
			}
			rest, keep = late, nil
		}
		late = rest
		var costs []int64
		led := make([]int, len(all)) // per rank, number of steps in which it is the latest
		for _, l := range late {
			led[l.worst]++
			costs = append(costs, l.cost)
		}
		first, last := late[0].step, late[len(late)-1].step
		cost, severity := int64(metric.MedianInPlace(costs)), "low"
		mean := float64(cost) * float64(len(late)) / float64(until-begin) // over all steps, as noise costs much in a few
		if c == byWork && mean > passingShare*float64(a.StepPeriod(late[len(late)/2].step)) {
			severity = "medium" // unlike noise, work can be distributed better
		}
		f := result.Finding{
			Kind: result.Straggler, Cause: causeNames[c], Severity: severity, Passing: true, Turns: true,
			FirstStep: first, LastStep: last,
			CostNSPerStep: cost, ID: id("imbalance", d.Ranks[0].Label, causeNames[c], first),
		}
		var starved, excess int64
		for i := range all {
			for _, l := range late {
				if n := l.step; all[i].yes[c][n] {
					starved, excess = starved+all[i].late[n].starved, excess+all[i].late[n].excess[byHost]
				}
			}
		}
		f.Starved = c == byHost && 2*starved > excess
		var parts []fact.Fact
		for i, n := range led {
			var kept []lateRun
			for k := range all[i].runs {
				if r := &all[i].runs[k]; r.cause != c || r.steps[0] >= until || r.still != nil || keep[r] {
					kept = append(kept, *r)
				}
			}
			all[i].runs = kept
			if n > 0 {
				f.Ranks = append(f.Ranks, d.Ranks[i].Index)
				parts = append(parts, fact.Of("moving_rank", "rank", d.Ranks[i].Label, "n", n))
			}
		}
		f.Title = fact.Of("imbalance", "n", len(late), "of", until-begin, "why", fact.Of("late_"+causeNames[c]), "cost", f.CostNSPerStep)
		f.Evidence = []result.Evidence{proof("count", float64(len(late)), float64(until-begin), fact.Of("moving", "parts", parts))}
		out = append(out, f)
	}
	return out
}

// takesTurns reports whether the latest rank changes continually.
func takesTurns(all []verdict, late []lateStep, steps int) bool {
	times, changes := make([]int, len(all)), 0 // per rank, number of late steps; number of changes of the latest rank
	for i, l := range late {
		for _, r := range l.ranks {
			times[r]++
		}
		if i > 0 && l.worst != late[i-1].worst {
			changes++
		}
	}
	return changes >= leastChanges && float64(len(late)) >= movingShare*float64(steps) && float64(slices.Max(times)) <= movingMost*float64(len(late))
}

// lateStep is a step in which ranks are late by one cause.
type lateStep struct {
	step, worst int   // worst is the rank with the highest cost
	cost        int64 // cost of worst
	ranks       []int // all late ranks
}

func lateSteps(a *match.Aligned, all []verdict, c, begin, end int) (out []lateStep) {
	for n := max(begin, 1); n < end; n++ {
		l := lateStep{step: n}
		for i := range all {
			v := &all[i]
			if !v.yes[c][n] || v.split[n][c] <= lateLimit(a, n) {
				continue
			}
			l.ranks = append(l.ranks, i)
			if v.split[n][c] > l.cost {
				l.worst, l.cost = i, v.split[n][c]
			}
		}
		if l.ranks != nil {
			out = append(out, l)
		}
	}
	return out
}

// standsOut returns the step from which on one rank is the latest in nearly all late steps until the end, or -1. The
// rank must be the latest too often to be explained by chance. The rank is then to blame even if different ranks were
// late before. Since a turn of earlier steps may last several steps, that many steps count as one.
func standsOut(all []verdict, c int, late []lateStep) int {
	from, ranks := -1, float64(len(all))
	for i := range all {
		for _, r := range all[i].runs {
			if r.cause != c || !r.stays || r.recurring {
				continue
			}
			turns, before, led, since := 0, 0, 0, 0
			for k, l := range late {
				if l.step >= r.steps[0] {
					since++
					if l.worst == i {
						led++
					}
					continue
				}
				before++
				if k == 0 || l.worst != late[k-1].worst {
					turns++
				}
			}
			turn := max(1, float64(before)/float64(max(turns, 1))) // mean length of a turn
			of := func(steps int) int { return int(float64(steps) / turn) }
			if float64(led) > movingMost*float64(since) && ranks*metric.AtLeast(of(led), of(since), 1/ranks) <= chance && (from < 0 || r.steps[0] < from) {
				from = r.steps[0]
			}
		}
	}
	return from
}

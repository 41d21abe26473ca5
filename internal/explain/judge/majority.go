package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Lateness of many ranks: of most of them together, and of one after the other.

// earlySteps gives, for the steps in which most ranks are late together, the few that
// wait for them. The median arrival is then itself a late one, so that single
// collectives show nobody who is behind; over a step the waiting tells two groups
// apart: those that wait for most of what the longest waits, and those that hardly do.
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

// shareMajority makes one finding of those that blame most ranks, by one cause and since
// the same steps: whom they keep waiting is the exception.
func shareMajority(d *Domain, all []result.Finding) []result.Finding {
	for _, f := range all {
		alike := func(o result.Finding) bool {
			both := min(f.LastStep, o.LastStep) - max(f.FirstStep, o.FirstStep) + 1
			return o.Kind == result.Straggler && o.Cause == f.Cause && len(o.Ranks) == 1 && !o.Starved &&
				4*both >= 3*max(f.LastStep-f.FirstStep+1, o.LastStep-o.FirstStep+1)
		}
		if f.Cause == result.CauseCommunication || !alike(f) {
			continue
		}
		one, rest, names := d.share(all, alike)
		if one == nil || len(one.Ranks) == len(d.Ranks) {
			continue
		}
		one.Kind, one.Cause, one.Severity = result.Straggler, f.Cause, f.Severity
		for _, e := range one.Evidence { // what each cost: the early ones wait for the latest
			one.CostNSPerStep = max(one.CostNSPerStep, int64(e.Value))
		}
		one.ID = id(result.Straggler, names[0], "and", len(names)-1, f.Cause, one.FirstStep)
		var others []string
		for _, r := range d.Ranks {
			if !slices.Contains(one.Ranks, r.Index) {
				others = append(others, r.Label)
			}
		}
		one.Title = fact.Of("majority", "ranks", names, "first", one.FirstStep, "why", fact.Of("late_"+f.Cause), "others", others, "cost", one.CostNSPerStep)
		return shareMajority(d, append(rest, *one))
	}
	return all
}

// chance is how likely it may be that a rank is late so often by chance alone.
const chance = 0.1

// byChance drops lateness that passes and that chance explains: if in each step with a
// late rank any of them might have been it, one would be it as often with more than
// that probability. It tells whether nothing of the cause is left then. Where no other
// rank is late, chance explains nothing.
func byChance(all []verdict, c int, led []int, steps int) (nothing bool) {
	dropped, left := false, false
	for i := range all {
		often := float64(len(all)) * metric.AtLeast(led[i], steps, 1/float64(len(all)))
		all[i].runs = slices.DeleteFunc(all[i].runs, func(r lateRun) bool {
			drop := r.cause == c && !r.stays && led[i] < steps && often > chance
			dropped = dropped || drop
			left = left || !drop && r.cause == c
			return drop
		})
	}
	return dropped && !left
}

// Steps in which an imbalance moves: so many changes of the rank that is late, and so
// large a share of steps with a late rank, none of which is late in most of them.
const (
	leastChanges = 3
	movingShare  = 0.25
	movingMost   = 0.6
)

// moving finds causes that make one rank late in this step and another in that, as
// experts do that get unequal shares of the tokens. That is one finding, which blames no
// rank; the stretches that it is made of go.
func moving(a *match.Aligned, d *Domain, all []verdict) (out []result.Finding) {
	begin, end := d.Common()
	for c := range numCauses {
		if c == byComm || c == byUnknown {
			continue // links take turns by nature: shareLinks
		}
		var steps []int
		var costs []int64
		times := make([]int, len(all)) // late, by rank
		led := make([]int, len(all))   // and latest of all
		changes, before := 0, -1
		for n := max(begin, 1); n < end; n++ {
			worst := -1
			for i := range all {
				v := &all[i]
				if !v.yes[c][n] || v.split[n][c] <= lateLimit(a, n) {
					continue
				}
				times[i]++
				if worst < 0 || v.split[n][c] > all[worst].split[n][c] {
					worst = i
				}
			}
			if worst < 0 {
				continue
			}
			if before >= 0 && worst != before {
				changes++
			}
			before = worst
			led[worst]++
			steps, costs = append(steps, n), append(costs, all[worst].split[n][c])
		}
		most := slices.Max(times)
		turns := changes >= leastChanges && float64(len(steps)) >= movingShare*float64(end-begin) && float64(most) <= movingMost*float64(len(steps))
		if !turns && !byChance(all, c, led, len(steps)) {
			continue
		}
		f := result.Finding{
			Kind: result.Straggler, Cause: causeNames[c], Severity: "medium", Passing: true,
			FirstStep: steps[0], LastStep: steps[len(steps)-1],
			CostNSPerStep: int64(metric.MedianInPlace(costs)), ID: id("imbalance", d.Ranks[0].Label, causeNames[c], steps[0]),
		}
		var starved, excess int64
		for i := range all {
			for _, n := range steps {
				if all[i].yes[c][n] {
					starved, excess = starved+all[i].late[n].starved, excess+all[i].late[n].excess[byHost]
				}
			}
		}
		f.Starved = c == byHost && 2*starved > excess
		var parts []fact.Fact
		for i, n := range led {
			all[i].runs = slices.DeleteFunc(all[i].runs, func(r lateRun) bool { return r.cause == c })
			if n > 0 {
				f.Ranks = append(f.Ranks, d.Ranks[i].Index)
				parts = append(parts, fact.Of("moving_rank", "rank", d.Ranks[i].Label, "n", n))
			}
		}
		f.Title = fact.Of("imbalance", "n", len(steps), "of", end-begin, "why", fact.Of("late_"+causeNames[c]), "cost", f.CostNSPerStep)
		f.Evidence = []result.Evidence{proof("count", float64(len(steps)), float64(end-begin), fact.Of("moving", "parts", parts))}
		out = append(out, f)
	}
	return out
}

package analysis

import (
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/metric"
)

// Thresholds of lateness. A rank is late in a step if what one cause costs
// the others exceeds lateShare of the median period of steps of its kind, and
// lateFloor. Natural differences between ranks of a healthy server stay below:
// 1 to 3 % in captures of one host.
const (
	lateShare = 0.05
	lateFloor = 20_000 // ns
	// workShare of a rank's own compute is more work than its peers have even
	// if nobody waits for it, because another rank is later still.
	workShare = 0.05
	// passingShare is the least cost of a lateness that passes, as a share of
	// the period: a few steps late by less are jitter.
	passingShare = 0.10
	// levelShare of its median cost is the least that a lateness costs in the
	// step in which it is said to begin.
	levelShare = 0.25
	// leastSteps is how many more late steps than others a stretch must have.
	leastSteps = 2
	// stayingSteps is how many a lateness that stays to the end must have.
	stayingSteps = 3
)

// stragglers turns the lateness of a domain into findings. late is
// [rank][step].
func (a *analyzer) stragglers(d *domain, late [][]lateness) []Finding {
	var out []Finding
	for i, r := range d.ranks {
		out = append(out, a.rankFindings(d, i, r, late[i])...)
	}
	return out
}

func (a *analyzer) rankFindings(d *domain, i int, r *rank, late []lateness) []Finding {
	type found struct {
		stretch
		cause int
	}
	split := make([][numCauses]int64, len(late))
	for n := range late {
		split[n] = late[n].split()
	}
	extra := d.extraWork(i, len(late))
	var all []found
	for c := range numCauses {
		yes := make([]bool, len(late))
		for n := range late {
			yes[n] = split[n][c] > a.lateLimit(n) || c == byWork && extra[n] > workShare
		}
		// Hosts and devices start the first step unevenly, as the profilers
		// start: alone it proves nothing.
		if c != byWork && len(yes) > 2 && !(yes[1] && yes[2]) {
			yes[0] = false
		}
		for _, s := range stretches(yes, leastSteps) {
			if c != byWork {
				s = a.levelled(s, split, c)
			}
			if staying(s, len(late)) || a.worthNaming(split, s, c) {
				all = append(all, found{s, c})
			}
		}
	}
	// What causes without a finding of their own cost in a step is part of the
	// lateness that was found: it goes to the step's findings in proportion.
	costs := make([][]int64, len(all))
	for n := range late {
		var own, sum int64
		for _, f := range all {
			if n >= f.first && n <= f.last {
				own += split[n][f.cause]
			}
		}
		for _, c := range split[n] {
			sum += c
		}
		for k, f := range all {
			if n < f.first || n > f.last {
				continue
			}
			cost := split[n][f.cause]
			if own > 0 {
				cost = int64(float64(cost) * float64(sum) / float64(own))
			}
			costs[k] = append(costs[k], cost)
		}
	}
	var out []Finding
	for k, f := range all {
		cost := metric.MedianInPlace(slices.Clone(costs[k]))
		out = append(out, a.straggler(d, i, r, late, f.stretch, f.cause, int64(cost)))
	}
	return out
}

// levelled cuts the beginning of a stretch where the cost, as a share of the
// step, is far below what it is in the middle: natural lateness that happens to
// come just before a real one.
func (a *analyzer) levelled(s stretch, split [][numCauses]int64, cause int) stretch {
	var cost []float64
	for n := s.first; n <= s.last; n++ {
		cost = append(cost, float64(split[n][cause])/float64(max(a.stepPeriod(n), 1)))
	}
	least := levelShare * metric.Median(cost)
	for i := 0; s.first < s.last && cost[i] < least; i++ {
		s.first++
	}
	return s
}

// staying tells a lateness that lasts to the end of the capture, give or take
// a little, from one that passes.
func staying(s stretch, steps int) bool {
	length := s.last - s.first + 1
	return length >= stayingSteps && steps-1-s.last <= length/8
}

// worthNaming tells a passing lateness from jitter.
func (a *analyzer) worthNaming(split [][numCauses]int64, s stretch, cause int) bool {
	var cost []int64
	for n := s.first; n <= s.last; n++ {
		cost = append(cost, split[n][cause])
	}
	return metric.MedianInPlace(cost) > passingShare*float64(a.stepPeriod((s.first+s.last)/2))
}

// lateLimit is the cost above which a rank is late in a step, ns.
func (a *analyzer) lateLimit(n int) int64 {
	return max(lateFloor, int64(lateShare*float64(a.stepPeriod(n))))
}

func (a *analyzer) straggler(d *domain, i int, r *rank, late []lateness, s stretch, cause int, cost int64) Finding {
	stays := staying(s, len(late))
	name := causeNames[cause]
	f := Finding{
		Kind: Straggler, Cause: name, Ranks: []int{r.index}, FirstStep: s.first, LastStep: s.last,
		Passing: !stays, CostNSPerStep: cost,
		ID: fmt.Sprintf("straggler-%s-%s-%d", r.label, name, s.first),
	}
	share := float64(cost) / float64(max(a.stepPeriod((s.first+s.last)/2), 1))
	switch {
	case share >= 0.10 && stays:
		f.Severity = "high"
	case share >= lateShare:
		f.Severity = "medium"
	default:
		f.Severity = "low"
	}
	when := fmt.Sprintf("since step %d", s.first)
	if !stays {
		when = fmt.Sprintf("in steps %d-%d, passing", s.first, s.last)
	}
	why := map[int]string{
		byWork:   "it runs more or larger kernels than its peers",
		byDevice: "the same kernels run longer or start late on its device",
		byHost:   "its host launches the same kernels late",
		byComm:   "its transfers take longer",
	}[cause]
	part := metric.Percent(share) + " of its length"
	if share >= 1 {
		part = fmt.Sprintf("%.1f times its usual length", share)
	}
	costText := fmt.Sprintf("the others wait %s a step, %s", metric.Duration(cost), part)
	if cost <= a.lateLimit(s.first) {
		costText = "hardly anyone waits for it now: another rank is later, or the others are no faster"
	}
	f.Title = fmt.Sprintf("%s is late %s: %s; %s", r.label, when, why, costText)
	f.Evidence = a.evidence(d, i, r, late, s, cause)
	return f
}

// extraWork is, per step, how much more a rank computes than a typical peer
// because it runs other or larger kernels, as a share of the peer's compute.
// It compares work alone, so lateness of hosts cannot hide it.
func (d *domain) extraWork(i int, steps int) []float64 {
	out := make([]float64, steps)
	if len(d.ranks) < 2 {
		return out
	}
	work := make([]map[int]*approach, len(d.ranks))
	for j, r := range d.ranks {
		work[j] = r.workBySteps()
	}
	for n := range steps {
		mine := work[i][n]
		if mine == nil {
			continue
		}
		// The peer with the median amount of work.
		var peers []*approach
		for j := range d.ranks {
			if p := work[j][n]; j != i && p != nil {
				peers = append(peers, p)
			}
		}
		if len(peers) == 0 {
			continue
		}
		slices.SortStableFunc(peers, func(a, b *approach) int { return int(min(max(a.total-b.total, -1), 1)) })
		ref := peers[(len(peers)-1)/2]
		l := lateness{extra: map[int32]extra{}}
		a, b := approach{keys: slices.Clone(mine.keys)}, approach{keys: slices.Clone(ref.keys)}
		a.against(&b, &l)
		if ref.total > 0 {
			out[n] = float64(l.excess[byWork]) / float64(ref.total)
		}
	}
	return out
}

// workBySteps sums a rank's own work per step and kernel.
func (r *rank) workBySteps() map[int]*approach {
	if r.work != nil {
		return r.work
	}
	r.work = map[int]*approach{}
	for i := range r.ops {
		o := &r.ops[i]
		if o.comm() || o.step < 0 {
			continue
		}
		n := int(o.step) + r.first
		a := r.work[n]
		if a == nil {
			a = &approach{}
			r.work[n] = a
		}
		k := a.at(o)
		k.count++
		k.busy += o.end - o.start
		a.total += o.end - o.start
	}
	return r.work
}

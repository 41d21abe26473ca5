package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// standstills holds the stalls of a rank's host.
type standstills struct {
	list  []prep.Still
	steps []int   // steps with stalls, in the capture's numbering, without duplicates
	costs []int64 // time for which other ranks waited for the stalls, in each of these steps
	// others is the number of similar stalls of other ranks at times when this rank did not stall.
	others int
}

// standsStill returns the stalls of a rank's host and subtracts their cost from split. It returns nil if there are too
// few stalls. If a thread may only have been waiting, the gap counts as a stall only if other ranks waited for this
// rank about as long, in addition to their waits for certain stalls. A thread that waits for another rank is late
// together with that rank, so the other rank does not wait for this thread. host holds the runs in which the host is
// late, including stalls.
func (d *Domain) standsStill(i, begin int, split [][numCauses]int64, host []lateRun) *standstills {
	r, s := d.Ranks[i], &standstills{}
	left := map[int]int64{} // wait of the other ranks that stalls do not yet explain, by step
	add := func(sure bool) {
		for _, x := range r.Still {
			n := int(x.Step) + r.First
			if x.Sure != sure || n < begin || n >= len(split) {
				continue
			}
			if _, ok := left[n]; !ok {
				left[n] = split[n][byHost]
			}
			if sure || asLong(left[n], x) {
				left[n] = max(0, left[n]-(x.End-x.Start))
				s.list = append(s.list, x)
			}
		}
	}
	add(true)
	unsure := len(s.list) < leastRecurring
	if unsure { // if there are enough certain stalls, they give a better estimate of the cost
		add(false)
		sorts.By(s.list, func(x, y prep.Still) int { return cmp.Compare(x.Start, y.Start) })
	}
	if len(s.list) < leastRecurring || s.lasts(host, split) {
		return nil
	}
	for _, x := range s.list {
		n := int(x.Step) + r.First
		if k := len(s.steps) - 1; k < 0 || s.steps[k] != n {
			s.steps, s.costs = append(s.steps, n), append(s.costs, split[n][byHost]-left[n])
			split[n][byHost] = left[n]
		}
	}
	s.others = d.stillBeside(i, s.list, begin, len(split), unsure)
	return s
}

// asLong reports whether other ranks waited for a rank about as long as the rank stalled.
func asLong(waited int64, x prep.Still) bool {
	length := x.End - x.Start
	return 2*waited >= length && waited <= 2*length
}

// times returns the number of stalls. If the time between two stalls is shorter than the stall, they count as one stall
// that a span interrupts.
func times(list []prep.Still) (n int) {
	for k, x := range list {
		if k == 0 || x.Start-list[k-1].End > x.End-x.Start {
			n++
		}
	}
	return n
}

// stillBeside returns the number of stalls of other ranks that are half to twice as long as the stalls in list. It
// leaves out stalls that overlap those in list, since in such a case one of the two ranks may be waiting for the other.
// It counts certain stalls and, if unsure is set, also other stalls that pass the test of standsStill.
func (d *Domain) stillBeside(i int, list []prep.Still, begin, end int, unsure bool) (n int) {
	r := d.Ranks[i]
	mine := make([]prep.Interval, len(list))
	least, most := int64(math.MaxInt64), int64(0)
	for k, x := range list {
		least, most = min(least, x.End-x.Start), max(most, x.End-x.Start)
		mine[k] = prep.Interval{Start: r.Wall(x.Start), End: r.Wall(x.End)}
	}
	sorts.By(mine, func(x, y prep.Interval) int { return cmp.Compare(x.Start, y.Start) })
	mine = prep.Union(mine)
	for j, o := range d.Ranks {
		if j == i {
			continue
		}
		var its []prep.Still
		for _, x := range o.Still {
			if step := int(x.Step) + o.First; step < begin || step >= end || !x.Sure && !(unsure && asLong(d.late[j][step].split()[byHost], x)) {
				continue
			}
			if length := x.End - x.Start; 2*length < least || length > 2*most {
				continue
			}
			if from, to := o.Wall(x.Start), o.Wall(x.End); 2*prep.Overlap(mine, from, to) < to-from {
				its = append(its, x)
			}
		}
		n += times(its)
	}
	return n
}

// lasts reports whether the host is late until the end of the capture, in most steps by about the length of one stall.
// Such a rank is late throughout, rather than stalling now and then. host holds the runs in which the host is late,
// including stalls.
func (s *standstills) lasts(host []lateRun, split [][numCauses]int64) bool {
	var lengths []int64
	for _, x := range s.list {
		lengths = append(lengths, x.End-x.Start)
	}
	usual := int64(metric.MedianInPlace(lengths))
	return slices.ContainsFunc(host, func(r lateRun) bool {
		once := 0
		for _, n := range r.steps {
			if cost := split[n][byHost]; 4*cost >= 3*usual && 2*cost <= 3*usual {
				once++
			}
		}
		return r.stays && 4*once >= 3*len(r.steps)
	})
}

// tell rewrites a finding to state that the rank stalls, how often it stalls, and during which activity.
func (s *standstills) tell(f *result.Finding, r *match.Rank, of int, waited bool) {
	longest := slices.SortedStableFunc(slices.Values(s.list), func(x, y prep.Still) int {
		return cmp.Compare(y.End-y.Start, x.End-x.Start)
	})
	length := func(x prep.Still) int64 { return x.End - x.Start }
	var every, cost fact.Fact
	ends := make([]int64, len(s.list))
	for k, x := range s.list {
		ends[k] = x.End
	}
	if ns := metric.Every(ends); ns > 0 {
		every = fact.Of("still_every", "ns", ns)
	}
	if waited {
		cost = fact.Of("still_cost", "cost", f.CostNSPerStep)
	} else {
		cost = fact.Of("late_unfelt")
	}
	f.ID, f.Still = id(result.Straggler, r.Label, "still", f.FirstStep), true
	f.Title = fact.Of("still", "rank", r.Label, "n", len(s.list), "least", length(longest[len(longest)-1]), "most", length(longest[0]),
		"every", every, "k", len(s.steps), "of", of, "steps", s.steps, "cost", cost)
	f.Evidence = nil
	for _, x := range longest[:min(3, len(longest))] {
		where := fact.Of("still_after", "span", x.After)
		if x.In != "" {
			where = fact.Of("still_in", "span", x.In)
		}
		e := proof("ns", float64(length(x)), float64(x.Like), fact.Of("still_proof", "step", int(x.Step)+r.First, "ns", length(x), "where", where, "like", x.Like))
		e.Name, e.Step = where, int(x.Step)+r.First
		f.Evidence = append(f.Evidence, e)
	}
}

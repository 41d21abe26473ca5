package timeline

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Ribbon is a collective on all ranks that take part. Ranks wait from the first to the last arrival. Then the
// collective transfers data until the last rank leaves.
type Ribbon struct {
	Domain int    `json:"domain"`
	Index  int    `json:"index"` // index among the domain's collectives; identifies the collective together with Domain
	Op     string `json:"op"`
	Step   int    `json:"step"`
	First  int64  `json:"first_ns"` // first arrival
	Last   int64  `json:"last_ns"`
	End    int64  `json:"end_ns"`
	Late   Link   `json:"late"` // the kernel of the last rank to arrive
	Ranks  int    `json:"ranks"`
	Wait   int64  `json:"wait_ns"` // summed over ranks
	// Arrivals are the sorted arrivals of all ranks, or an even sample of mostArrivals. They show how many ranks wait
	// at any time.
	Arrivals []int64 `json:"arrivals_ns"`
}

// Ribbons holds the collectives in an interval.
type Ribbons struct {
	Ribbons []Ribbon `json:"ribbons"` // in time order
	All     int      `json:"all"`     // number of all collectives; only those with the longest waits are listed
}

const (
	mostArrivals = 32
	mostRibbons  = 400
)

// meeting holds the times at which the ranks of a collective arrived and left.
type meeting struct {
	first, last, left int64
	wait              int64 // summed over ranks
	possible          bool
}

// meet computes the meetings of all collectives. Collectives are in the order of their last arrivals.
func (t *Timeline) meet() {
	for _, d := range t.a.Domains {
		of := make([]meeting, len(d.Matches))
		for i := range d.Matches {
			m := &d.Matches[i]
			x := meeting{first: m.Last - t.a.Origin, last: m.Last - t.a.Origin, left: leftBy(m) - t.a.Origin, possible: m.Possible()}
			for _, p := range m.At {
				x.first = min(x.first, p.Start-t.a.Origin)
				x.wait += p.Wait
			}
			t.longestWait, t.longestRest = max(t.longestWait, x.last-x.first), max(t.longestRest, x.left-x.last)
			of[i] = x
		}
		t.meetings = append(t.meetings, of)
	}
}

// Ribbons returns at most most collectives that overlap [from, to) on the wall clock.
func (t *Timeline) Ribbons(from, to int64, most int) *Ribbons {
	type place struct{ domain, index int }
	var all []place
	for domain, of := range t.meetings {
		at, _ := slices.BinarySearchFunc(of, from-t.longestRest, func(m meeting, at int64) int { return cmp.Compare(m.last, at) })
		for ; at < len(of) && of[at].last <= to+t.longestWait; at++ {
			if m := &of[at]; m.possible && m.left > from && m.first < to {
				all = append(all, place{domain, at})
			}
		}
	}
	out := &Ribbons{Ribbons: []Ribbon{}, All: len(all)}
	sorts.Stable(all, func(a, b place) int {
		return cmp.Compare(t.meetings[b.domain][b.index].wait, t.meetings[a.domain][a.index].wait)
	})
	for _, p := range all[:min(len(all), most, mostRibbons)] {
		out.Ribbons = append(out.Ribbons, t.ribbon(p.domain, p.index))
	}
	sorts.Stable(out.Ribbons, func(a, b Ribbon) int { return cmp.Compare(a.First, b.First) })
	return out
}

func (t *Timeline) ribbon(domain, index int) Ribbon {
	d := t.a.Domains[domain]
	m := &d.Matches[index]
	x := &t.meetings[domain][index]
	out := Ribbon{
		Domain: domain, Index: index, Op: m.Op, Step: m.Step, First: x.first, Last: x.last, End: x.left, Ranks: len(m.At), Wait: x.wait,
	}
	for _, p := range m.At {
		if p.Start == m.Last {
			rank := d.Ranks[p.Rank].Index
			out.Late = t.link(rank, t.ranks[rank].Ops[p.Op].Span)
		}
		out.Arrivals = append(out.Arrivals, p.Start-t.a.Origin)
	}
	slices.Sort(out.Arrivals)
	if n := len(out.Arrivals); n > mostArrivals {
		some := make([]int64, mostArrivals)
		for i := range some {
			some[i] = out.Arrivals[i*(n-1)/(mostArrivals-1)]
		}
		out.Arrivals = some
	}
	return out
}

// Parts returns the kernels of a collective, in rank order.
func (t *Timeline) Parts(domain, index int) []Link {
	out := []Link{}
	if domain < 0 || domain >= len(t.a.Domains) || index < 0 || index >= len(t.a.Domains[domain].Matches) {
		return out
	}
	d := t.a.Domains[domain]
	for _, p := range d.Matches[index].At {
		rank := d.Ranks[p.Rank].Index
		out = append(out, t.link(rank, t.ranks[rank].Ops[p.Op].Span))
	}
	return out
}

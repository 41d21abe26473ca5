package match

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// Traces record neither ranks nor sequence numbers or arguments of host collectives. But all ranks of a group run the
// collectives of one name in the same order, and no rank ends before the ranks for which it waits have arrived. The
// order therefore shows which parts belong to one collective, and the times show the waits. A gloo broadcast runs along
// a tree, in which a rank waits only for its parent and its children (gloo/broadcast.cc).

// HostMatch is one host collective, with the part of each rank of the group.
type HostMatch struct {
	Op    string
	First bool // the group's first in the window; proves nothing, as ranks start recording at different times
	At    []HostPart
}

// HostPart is one rank's part in a host collective, on the aligned clock.
type HostPart struct {
	Rank       int32   // index in Domain.Ranks
	Coll       int32   // index in Rank.HostColls; -1: the span is missing, so the rank arrived last
	Start, End int64   // ns
	For        []int32 // indices in At of the parts for which this part waits
	Wait       int64   // wait until the last of these parts arrived, ns
	Last       int32   // index in At of the last of these parts to arrive; -1: no wait
}

const (
	hostTolerance = 50_000 // ns by which the times of two threads on one host may contradict each other
	hostSkew      = 1_000_000
	hostShifts    = 8   // maximum number of collectives by which the beginnings of windows may differ
	hostMost      = 256 // maximum number of ranks of a group, since pairs of ranks are compared
	hostGroups    = 64  // maximum number of groups of one operation in a domain
	hostLeast     = 3   // minimum number of collectives to show that two ranks are in one group
)

// matchHosts finds the host collectives of a domain. It does nothing if the clocks may be far off.
func (d *Domain) matchHosts() {
	d.Hosts = nil
	waits := make([][]int64, len(d.Ranks)) // by rank and collective, ns
	for i, r := range d.Ranks {
		waits[i], r.hostWaits = make([]int64, len(r.HostColls)), nil
	}
	if len(d.Ranks) < 2 {
		return
	}
	byOp := map[string][][]int32{} // indices of host collectives, by operation and rank
	for i, r := range d.Ranks {
		for j := range r.HostColls {
			op := r.HostColls[j].Op
			if byOp[op] == nil {
				byOp[op] = make([][]int32, len(d.Ranks))
			}
			byOp[op][i] = append(byOp[op][i], int32(j))
		}
	}
	for op, lists := range byOp {
		d.matchHostOp(op, lists)
	}
	sorts.By(d.Hosts, func(a, b HostMatch) int {
		return cmp.Or(cmp.Compare(a.At[0].Start, b.At[0].Start), cmp.Compare(a.At[0].Rank, b.At[0].Rank), cmp.Compare(a.Op, b.Op))
	})
	for i := range d.Hosts {
		for _, p := range d.Hosts[i].At {
			if p.Coll >= 0 {
				waits[p.Rank][p.Coll] = p.Wait
			}
		}
	}
	for i, r := range d.Ranks {
		for j, wait := range waits[i] {
			if c := &r.HostColls[j]; wait > 0 && c.Blocked.End > c.Blocked.Start {
				r.hostWaits = append(r.hostWaits, prep.Interval{Start: c.Blocked.Start, End: min(c.Start+wait, c.Blocked.End)})
			}
		}
	}
}

// inGroup is a rank of a group. The rank's n-th collective is the (n+shift)-th collective of the group.
type inGroup struct {
	rank, shift int
}

// matchHostOp matches the collectives of one operation, group by group.
func (d *Domain) matchHostOp(op string, lists [][]int32) {
	var rest []int
	for i := range d.Ranks {
		if len(lists[i]) > 0 {
			rest = append(rest, i)
		}
	}
	if d.matchAlone(op, lists) {
		return
	}
	for n := 0; n < hostGroups && len(rest) > 1; n++ {
		at := 0
		for k, i := range rest {
			if len(lists[i]) > len(lists[rest[at]]) {
				at = k
			}
		}
		group := []inGroup{{rest[at], 0}}
		rest = slices.Delete(rest, at, at+1)
		// A rank need not wait for the first rank of the group, but may wait for another rank of the group.
		for k := 0; k < len(group) && k < hostMost; k++ {
			rest = slices.DeleteFunc(rest, func(i int) bool {
				shift, ok := d.hostShift(lists, group[k].rank, i)
				if ok {
					group = append(group, inGroup{i, group[k].shift + shift})
				}
				return ok
			})
		}
		if len(group) > 1 && len(group) <= hostMost {
			d.matchHostGroup(op, lists, group)
		}
	}
}

// hostShift returns by how many positions the collectives of rank i lag behind the collectives of ref. ok reports
// whether the two ranks wait for each other. They do if most of their collectives overlap.
func (d *Domain) hostShift(lists [][]int32, ref, i int) (shift int, ok bool) {
	theirs, mine := lists[ref], lists[i]
	if d.Doubt(int32(i), int32(ref), d.Ranks[i].HostColls[mine[0]].Start) > hostSkew {
		return 0, false
	}
	best, bestOf := 0, 0
	for s := -hostShifts; s <= hostShifts; s++ {
		together, n := 0, 0
		for k := max(0, -s); k < min(len(mine), len(theirs)-s); k++ {
			if n++; d.span(ref, theirs[k+s]).meets(d.span(i, mine[k])) {
				together++
			}
		}
		if together > best || together == best && abs(int64(s)) < abs(int64(shift)) {
			best, bestOf, shift = together, n, s
		}
	}
	return shift, best >= hostLeast && 10*best >= 9*bestOf
}

// hostSpan is a host collective on the common clock, in ns.
type hostSpan struct{ start, end int64 }

func (d *Domain) span(rank int, coll int32) hostSpan {
	r := d.Ranks[rank]
	c := &r.HostColls[coll]
	return hostSpan{r.Wall(c.Start), r.Wall(c.End)}
}

func (s hostSpan) meets(o hostSpan) bool {
	return max(s.start, o.start) <= min(s.end, o.end)+hostTolerance
}

// matchHostGroup builds the matches of a group.
func (d *Domain) matchHostGroup(op string, lists [][]int32, group []inGroup) {
	sorts.By(group, func(a, b inGroup) int { return cmp.Compare(a.rank, b.rank) })
	first, last := math.MinInt, math.MaxInt
	for _, g := range group {
		first, last = max(first, g.shift), min(last, g.shift+len(lists[g.rank]))
	}
	var matches []HostMatch
	for n := first; n < last; n++ {
		m := HostMatch{Op: op, First: n == first}
		for _, g := range group {
			c := lists[g.rank][n-g.shift]
			s := d.span(g.rank, c)
			m.At = append(m.At, HostPart{Rank: int32(g.rank), Coll: c, Start: s.start, End: s.end})
		}
		matches = append(matches, m)
	}
	// If a rank once ended before another rank arrived, it does not wait for that other rank.
	never := make([]bool, len(group)*len(group))
	for i := range matches {
		at := matches[i].At
		for k := range at {
			for j := range at {
				if at[k].End+hostTolerance < at[j].Start {
					never[k*len(group)+j] = true
				}
			}
		}
	}
	of := make([][]int32, len(group))
	for k := range group {
		for j := range group {
			if j != k && !never[k*len(group)+j] {
				of[k] = append(of[k], int32(j))
			}
		}
	}
	for i := range matches {
		for k := range matches[i].At {
			matches[i].At[k].For = of[k]
		}
		matches[i].close()
	}
	d.Hosts = append(d.Hosts, matches...)
}

// matchAlone handles a domain of two ranks in which only the rank that waits records a collective. The rank without a
// span is taken to have arrived last. matchAlone returns false, and matches nothing, unless most collectives are
// recorded on one rank alone.
func (d *Domain) matchAlone(op string, lists [][]int32) bool {
	if len(d.Ranks) != 2 || len(lists[0])+len(lists[1]) == 0 {
		return false
	}
	i := 0
	if len(lists[0]) == 0 {
		i = 1
	}
	if d.Doubt(1, 0, d.Ranks[i].HostColls[lists[i][0]].Start) > hostSkew {
		return false
	}
	var out []HostMatch
	paired := 0 // collectives with a counterpart, counted on both ranks
	for i, list := range lists {
		other, next := d.Ranks[1-i], 0
		for _, c := range list {
			s := d.span(i, c)
			for _, o := range lists[1-i][next:] {
				if d.span(1-i, o).end+hostTolerance >= s.start {
					break
				}
				next++
			}
			if next < len(lists[1-i]) && d.span(1-i, lists[1-i][next]).meets(s) {
				paired++
				continue
			}
			if s.end < other.Wall(other.Extent.Start) || s.end > other.Wall(other.Extent.End) {
				continue
			}
			m := HostMatch{Op: op, At: []HostPart{
				{Rank: int32(i), Coll: c, Start: s.start, End: s.end, For: []int32{1}},
				{Rank: int32(1 - i), Coll: -1, Start: s.end, End: s.end},
			}}
			m.close()
			out = append(out, m)
		}
	}
	if len(out) < hostLeast || paired/2 >= len(out) {
		return false
	}
	d.Hosts = append(d.Hosts, out...)
	return true
}

// close computes the waits of the parts.
func (m *HostMatch) close() {
	for i := range m.At {
		p := &m.At[i]
		p.Last, p.Wait = -1, 0
		for _, j := range p.For {
			if wait := min(m.At[j].Start, p.End) - p.Start; wait > p.Wait {
				p.Wait, p.Last = wait, j
			}
		}
	}
}

// WaitsForHosts returns how long, in ns, the rank's launching thread waited for the hosts of other ranks in [from, to).
// from and to are on the rank's own clock.
func (r *Rank) WaitsForHosts(from, to int64) (sum int64) {
	at, _ := slices.BinarySearchFunc(r.hostWaits, from, func(w prep.Interval, at int64) int { return cmp.Compare(w.End, at) })
	for _, w := range r.hostWaits[at:] {
		if w.Start >= to {
			break
		}
		sum += max(0, min(w.End, to)-max(w.Start, from))
	}
	return sum
}

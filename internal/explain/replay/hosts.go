package replay

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// hostPart is a rank's part in a host collective.
type hostPart struct {
	prep.Interval       // from arrival to end, on the rank's clock
	match, at     int32 // index in the domain's Hosts, and index in At of that HostMatch
	waits         bool  // whether the launching thread does nothing else until the end
	arrives       int32 // nodes of the arrival and of the return
	returns       int32
}

// hostMoments returns, for each rank, the parts of host collectives, ordered by start.
func hostMoments(d *match.Domain) [][]hostPart {
	out := make([][]hostPart, len(d.Ranks))
	for i := range d.Hosts {
		for j, p := range d.Hosts[i].At {
			r := d.Ranks[p.Rank]
			x := hostPart{match: int32(i), at: int32(j), arrives: none, returns: none}
			if p.Coll >= 0 {
				c := &r.HostColls[p.Coll]
				x.Interval = c.Interval
				x.waits = len(p.For) > 0 && c.Blocked.End > c.Blocked.Start
			} else {
				// The missing rank arrived just before the others continue.
				x.Start = p.Start - (r.Wall(p.Start) - p.Start) - 1
				x.End = x.Start
			}
			out[p.Rank] = append(out[p.Rank], x)
		}
	}
	for _, list := range out {
		sorts.Stable(list, func(a, b hostPart) int { return cmp.Compare(a.Start, b.Start) })
	}
	return out
}

// addHostMeets makes each thread that waits in a host collective depend on the arrivals of the threads for which it
// waits. After the last arrival, the thread continues with a delay, the median time that the operation itself takes.
func (b *builder) addHostMeets() {
	took := map[string][]int64{}
	for i := range b.domain.Hosts {
		m := &b.domain.Hosts[i]
		for _, p := range m.At {
			took[m.Op] = append(took[m.Op], p.End-p.Start-p.Wait)
		}
	}
	usual := map[string]int64{}
	for op, ns := range took {
		usual[op] = int64(metric.MedianInPlace(ns))
	}
	arrives := make([][]int32, len(b.domain.Hosts))
	for i := range arrives {
		arrives[i] = slices.Repeat([]int32{none}, len(b.domain.Hosts[i].At))
	}
	for _, list := range b.hosts {
		for i := range list {
			arrives[list[i].match][list[i].at] = list[i].arrives
		}
	}
	last := slices.Repeat([]int32{none}, len(arrives)) // the node of the last meeting of each collective
	for _, list := range b.hosts {
		for i := range list {
			if x := &list[i]; x.returns != none {
				b.addHostMeet(x, arrives[x.match], &last[x.match], usual[b.domain.Hosts[x.match].Op])
			}
		}
	}
}

// addHostMeet makes one part of a host collective end after the arrivals for which it waits. It ignores arrivals
// recorded after the end of the part, since clocks may be slightly off. Parts that wait for the same arrivals share a
// meeting, since otherwise memory would grow with the square of the ranks.
func (b *builder) addHostMeet(x *hostPart, arrives []int32, last *int32, usual int64) {
	returns := &b.nodes[x.returns]
	meet := newNode(Meet, none, b.nodes[x.arrives].at, 0)
	from := []int32{x.arrives}
	for _, j := range b.domain.Hosts[x.match].At[x.at].For {
		if a := arrives[j]; a != none && b.nodes[a].at < returns.at {
			from = append(from, a)
			meet.at = max(meet.at, b.nodes[a].at)
		}
	}
	slices.Sort(from)
	meet.step = returns.step
	if old := *last; old == none || b.nodes[old].step != meet.step || !slices.Equal(b.meets[b.nodes[old].ref], from) {
		meet.ref = int32(len(b.meets))
		b.meets = append(b.meets, from)
		*last = b.add(meet)
	}
	returns = &b.nodes[x.returns]
	returns.await(*last, meet.at, min(usual, returns.at-meet.at))
	b.settle(returns)
}

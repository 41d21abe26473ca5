package judge

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file handles hosts that wait for other hosts. A host that is late to a host collective makes the other hosts
// wait. All hosts launch together afterwards, so device collectives do not show which host was late. Therefore the wait
// in host collectives counts as well. The wait counts up to the time by which the launching thread of the late host was
// slower than the launching thread of the rank with the median arrival. Both are timed from the previous host
// collective. Waits are excluded from this time: if the thread waited for its own device, the device is at fault, and
// device collectives show that.
//
// Hosts differ by design. The first rank of a group receives requests before it broadcasts them, so a wait for that
// rank in a broadcast proves nothing. Waits of up to 45 % of a step were seen. A wait for any other rank counts if it
// exceeds a quarter of a step. No wait counts if Python stacks were recorded, which slow hosts.

// hostWaitShare is the minimum wait for a host that counts, as a share of a step.
const hostWaitShare = 0.25

// lateHosts finds ranks with hosts that are late only at host collectives. found holds the findings from device
// collectives, which take precedence. If found blames any host, lateHosts returns nothing. It also returns nothing
// about a rank that found blames for any reason.
func lateHosts(a *match.Aligned, d *Domain, found []result.Finding) (out []result.Finding) {
	byHost := func(f result.Finding) bool { return f.Kind == result.Straggler && f.Cause == result.CauseHost }
	if len(d.Hosts) == 0 || slices.ContainsFunc(found, byHost) {
		return nil
	}
	named := map[int]bool{}
	for i := range found {
		for _, r := range found[i].Ranks {
			named[r] = true
		}
	}
	hosts := *d
	hosts.late = nil
	for _, late := range d.late {
		hosts.late = append(hosts.late, slices.Clone(late))
	}
	hosts.blameHosts(a)
	for _, f := range stragglers(a, &hosts) {
		some := !f.Turns && 2*len(f.Ranks) <= len(d.Ranks)
		if byHost(f) && some && !slices.ContainsFunc(f.Ranks, func(r int) bool { return named[r] }) {
			out = append(out, f)
		}
	}
	return out
}

// blameHosts adds the cost of late hosts in host collectives to the lateness of ranks. It adds a cost only where the
// cost exceeds that of the rank in device collectives.
func (d *Domain) blameHosts(a *match.Aligned) {
	if slices.ContainsFunc(d.Ranks, func(r *match.Rank) bool { return r.Stacks }) {
		return
	}
	type place struct{ rank, step int }
	cost := map[place]int64{}
	waits := make([][]prep.Interval, len(d.Ranks))
	for i, r := range d.Ranks {
		waits[i] = r.WaitsOf(r.Main)
	}
	left := map[string][]int64{} // by operation and rank: end of the previous part, on the rank's own clock
	for i := range d.Hosts {
		m := &d.Hosts[i]
		if left[m.Op] == nil {
			left[m.Op] = slices.Repeat([]int64{-1}, len(d.Ranks))
		}
		before := left[m.Op]
		if late, ref, wait := latestHost(m, len(d.Ranks)); late >= 0 && !m.First && !(late == 0 && strings.HasSuffix(m.Op, ":broadcast")) {
			p, q := &m.At[late], &m.At[ref]
			behind := p.Start - q.Start
			mine, known := d.hostTook(p, before[p.Rank], waits[p.Rank])
			theirs, same := d.hostTook(q, before[q.Rank], waits[q.Rank])
			if step := d.stepOfHost(p); known && same && step >= 0 && behind >= tie {
				share := float64(min(max(mine-theirs, 0), behind)) / float64(behind)
				cost[place{int(p.Rank), step}] += int64(share * float64(wait))
			}
		}
		for _, p := range m.At {
			if p.Coll >= 0 {
				before[p.Rank] = d.Ranks[p.Rank].HostColls[p.Coll].End
			}
		}
	}
	for at, ns := range cost {
		if at.step >= len(d.late[at.rank]) {
			continue
		}
		if l := &d.late[at.rank][at.step]; ns > l.cost && float64(ns) > hostWaitShare*float64(a.StepPeriod(at.step)) {
			l.excess[byHost] += ns - l.cost
			l.cost = ns
		}
	}
}

// latestHost returns the index of the part for which the other parts wait, the index of the part with the median
// arrival, and the average wait of the domain's other ranks. late is -1 if no part waits.
func latestHost(m *match.HostMatch, ranks int) (late, ref int, wait int64) {
	late = -1
	var sum int64
	order := make([]int, len(m.At))
	for i := range m.At {
		p := &m.At[i]
		order[i] = i
		if p.Last < 0 {
			continue
		}
		sum += p.Wait
		if late < 0 || m.At[p.Last].Start > m.At[late].Start {
			late = int(p.Last)
		}
	}
	sorts.Stable(order, func(a, b int) int { return int(min(max(m.At[a].Start-m.At[b].Start, -1), 1)) })
	return late, order[(len(order)-1)/2], sum / int64(max(ranks-1, 1))
}

// hostTook returns how long a rank's launching thread took to reach its part p of a host collective, less waits. The
// time begins at from, on the rank's own clock. known is false if from is negative or in another stretch.
func (d *Domain) hostTook(p *match.HostPart, from int64, waits []prep.Interval) (ns int64, known bool) {
	if p.Coll < 0 || from < 0 {
		return 0, false
	}
	r := d.Ranks[p.Rank]
	to := r.HostColls[p.Coll].Start
	if r.Apart(from, to) {
		return 0, false
	}
	return to - from - prep.Overlap(waits, from, to), true
}

// stepOfHost returns the step that contains or follows a part of a host collective, in the capture's numbering, or -1.
func (d *Domain) stepOfHost(p *match.HostPart) int {
	r := d.Ranks[p.Rank]
	if p.Coll < 0 || r.HostColls[p.Coll].Step < 0 {
		return -1
	}
	return int(r.HostColls[p.Coll].Step) + r.First
}

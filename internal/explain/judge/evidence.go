package judge

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// evidence returns the evidence for a straggler: the collectives at which it arrived last, and how it differs from
// other ranks. It covers only the finding's steps of the most frequent kind, since a prefill among decode steps shows
// nothing about the cost of a decode step.
func evidence(a *match.Aligned, d *Domain, i int, late []lateness, s []int, cause int) []result.Evidence {
	s = mostOfKind(a, s)
	last, of := 0, 0
	for _, n := range s {
		last += late[n].last
		of += late[n].of
	}
	out := excessEvidence(late, s)
	arrivals := proof("count", float64(last), float64(of), fact.Of("last_in", "last", last, "of", of))
	work := d.workEvidence(i, s)
	// Evidence of the cause comes first, and evidence of similarities last.
	switch cause {
	case byWork:
		more := topKernels(a.Names, late, s, func(e extra) int64 { return e.ns }, "more")
		for k := range more {
			more[k].Text = d.withBlocks(a.Names, i, s, more[k])
		}
		out = slices.Concat(out, d.inputEvidence(i, s), work, more)
		return append(out, arrivals)
	case byDevice:
		ops := topKernels(a.Names, late, s, func(e extra) int64 { return e.late }, "late")
		ops = append(ops, topKernels(a.Names, late, s, func(e extra) int64 { return e.slow }, "slow")...)
		sorts.Stable(ops, func(x, y result.Evidence) int { return cmp.Compare(y.Value, x.Value) })
		for _, e := range ops {
			if e.Value >= 0.05*ops[0].Value {
				if name := int32(slices.Index(a.Names.List, e.Name.Text)); slices.ContainsFunc(s, func(n int) bool { return late[n].configured[name] }) {
					e.Text = d.withConfiguration(a.Names, i, s, e)
				} else {
					e.Text = d.sameContexts(a, i, s, e)
				}
				out = append(out, e)
			}
		}
	case byHost:
		if wait := over(s, func(n int) int64 { return late[n].starved }); wait > 0 {
			out = append(out, proof("ns", wait, 0, fact.Of("no_core", "ns", wait)))
		}
		out = append(out, hostEvidence(a, d.Ranks[i], late, s)...)
	case byUnknown:
		out = append(out, topKernels(a.Names, late, s, func(e extra) int64 { return e.untold }, "untold")...)
	case byComm:
		ns := over(s, func(n int) int64 { return late[n].excess[byComm] })
		out = append(out, proof("ns", ns, 0, fact.Of("leaves_late", "ns", ns)))
	}
	return append(append(out, arrivals), work...)
}

// doubtEvidence states how much of the lateness was left out because clock error could explain it.
func doubtEvidence(a *match.Aligned, late []lateness, s []int) []result.Evidence {
	ns := over(s, func(n int) int64 { return late[n].doubt })
	if ns < tie {
		return nil
	}
	return []result.Evidence{proof("ns", ns, 0, fact.Of("clocks_left_out", "ns", ns, "within", a.Within))}
}

// workEvidence compares the kernels of a rank with those of its peers.
func (d *Domain) workEvidence(i int, s []int) []result.Evidence {
	kernels, peerKernels := d.kernels([]int{i}, s)
	work, peerWork := d.perStep([]int{i}, s, func(j, n int) float64 {
		if w := d.work[j][n]; w != nil {
			return float64(w.total)
		}
		return 0
	})
	counts := fact.Of("kernels_same", "mine", kernels)
	if kernels != peerKernels {
		counts = fact.Of("kernels_differ", "mine", kernels, "peers", peerKernels)
	}
	return []result.Evidence{
		proof("count", kernels, peerKernels, counts),
		proof("ns", work, peerWork, fact.Of("own_work", "mine", work, "peers", peerWork)),
	}
}

// kernels compares the number of kernels per step of some ranks with that of the other ranks.
func (d *Domain) kernels(ranks, s []int) (mine, peers float64) {
	return d.perStep(ranks, s, func(j, n int) float64 {
		if r := d.Ranks[j]; r.First <= n && n < r.First+len(r.Steps) {
			return float64(r.Steps[n-r.First].Kernels)
		}
		return 0
	})
}

// mostOfKind returns the steps that have the most frequent kind.
func mostOfKind(a *match.Aligned, steps []int) (out []int) {
	by := map[trace.StepKind][]int{}
	for _, n := range steps {
		k := a.KindOf[n]
		if by[k] = append(by[k], n); len(by[k]) > len(out) {
			out = by[k]
		}
	}
	return out
}

// over returns the median over steps of the time that of returns, in ns.
func over(steps []int, of func(n int) int64) float64 {
	all := make([]int64, len(steps))
	for i, n := range steps {
		all[i] = of(n)
	}
	return metric.MedianInPlace(all)
}

// excessEvidence states the causes for which the late rank takes longer than the rank with the median arrival.
func excessEvidence(late []lateness, s []int) []result.Evidence {
	var more [numCauses]float64
	var total float64
	for c := range more {
		more[c] = over(s, func(n int) int64 { return late[n].excess[c] })
		total += max(more[c], 0)
	}
	var parts []fact.Fact
	for c, ns := range more {
		if ns*50 > total && ns > 0 { // more than 2 % of the total
			parts = append(parts, fact.Of("excess_"+causeNames[c], "ns", ns))
		}
	}
	if parts == nil { // the cause differs from step to step
		return nil
	}
	return []result.Evidence{proof("ns", total, 0, fact.Of("excess", "parts", parts))}
}

// perStep returns the median of a figure over the steps s for some ranks, and the median over the same steps for all
// other ranks together.
func (d *Domain) perStep(ranks, s []int, figure func(rank, step int) float64) (mine, peers float64) {
	var own, others []float64
	for _, n := range s {
		for j := range d.Ranks {
			if v := figure(j, n); slices.Contains(ranks, j) {
				own = append(own, v)
			} else {
				others = append(others, v)
			}
		}
	}
	return metric.MedianInPlace(own), metric.MedianInPlace(others)
}

// topKernels lists the kernels that explain most of an excess. It uses means over steps, because a shared device stalls
// in different kernels in different steps.
func topKernels(names *prep.Names, late []lateness, s []int, of func(extra) int64, which string) []result.Evidence {
	type sum struct {
		ns, count int64
	}
	byName := map[int32]sum{}
	var total int64
	steps := float64(len(s))
	for _, n := range s {
		for key, e := range late[n].extra {
			ns := of(e)
			v := byName[names.Keys[key].Name]
			byName[names.Keys[key].Name] = sum{v.ns + ns, v.count + e.count}
			total += max(ns, 0)
		}
	}
	ids := sorts.Sorted(maps.Keys(byName), func(x, y int32) int {
		return cmp.Or(cmp.Compare(byName[y].ns, byName[x].ns), cmp.Compare(x, y))
	})
	var out []result.Evidence
	for _, id := range ids {
		v := byName[id]
		if len(out) == 3 || float64(v.ns) < 0.05*float64(total) || v.ns <= 0 {
			break
		}
		var more fact.Fact
		if n := float64(v.count) / steps; n >= 0.5 {
			more = fact.Of("more_of_them", "n", n)
		}
		e := proof("ns", float64(v.ns)/steps, 0, fact.Of("kernel_"+which, "kernel", names.List[id], "ns", float64(v.ns)/steps, "more", more))
		e.Name = fact.Name(names.List[id])
		out = append(out, e)
	}
	return out
}

// hostEvidence states which launches took longer on the late host than on its peer, and the activity of the launching
// thread before the longest of these launches.
func hostEvidence(a *match.Aligned, r *match.Rank, late []lateness, s []int) []result.Evidence {
	sum := map[int32]int64{}
	for _, n := range s {
		for key, ns := range late[n].host {
			sum[key] += ns
		}
	}
	keys := sorts.Sorted(maps.Keys(sum), func(x, y int32) int {
		return cmp.Or(cmp.Compare(sum[y], sum[x]), cmp.Compare(x, y))
	})
	steps := float64(len(s))
	var out []result.Evidence
	for _, key := range keys[:min(3, len(keys))] {
		if sum[key] <= 0 || sum[key]*10 < sum[keys[0]] {
			break
		}
		// Find the step in which this launch was latest, and find the launch in that step.
		worst := s[0]
		for _, n := range s {
			if late[n].host[key] > late[worst].host[key] {
				worst = n
			}
		}
		var did, meanwhile fact.Fact
		if i := longestLaunch(r, worst, key); i >= 0 {
			doing := r.DidBefore(i)
			if did = doing.Fact(a.Marks); did.String() != "" {
				meanwhile = fact.Of("meanwhile", "step", worst, "did", did)
			}
		}
		more := float64(sum[key]) / steps
		e := proof("ns", more, 0, fact.Of("launches_late", "ns", more, "kernel", a.Names.List[a.Names.Keys[key].Name], "meanwhile", meanwhile))
		e.Name, e.Step = did, worst
		out = append(out, e)
	}
	return out
}

// longestLaunch returns the index of the slowest call in a step that launched a kernel with the given key, or -1.
func longestLaunch(r *match.Rank, stepNo int, key int32) int {
	best := -1
	for i := range r.Calls {
		c := &r.Calls[i]
		if int(c.Step)+r.First == stepNo && c.Op >= 0 && r.Ops[c.Op].Key == key && (best < 0 || c.Host > r.Calls[best].Host) {
			best = i
		}
	}
	return best
}

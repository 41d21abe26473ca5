package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// evidence proves a straggler: where it was last, and what differs.
func evidence(a *match.Aligned, d *Domain, i int, late []lateness, s []int, cause int) []result.Evidence {
	last, of := 0, 0
	for _, n := range s {
		last += late[n].last
		of += late[n].of
	}
	out := []result.Evidence{excessEvidence(late, s)}
	arrivals := result.Evidence{
		Text:  fmt.Sprintf("last to arrive in %d of %d collectives of these steps", last, of),
		Value: float64(last), Peers: float64(of), Unit: "count", Step: -1,
	}
	work := d.workEvidence(i, s)
	// What shows the cause comes first, what is the same as elsewhere last.
	steps := float64(len(s))
	switch cause {
	case byWork:
		out = append(out, work...)
		out = append(out, topKernels(a.Names, late, s, steps, func(e extra) int64 { return e.ns }, "more work in")...)
		return append(out, arrivals)
	case byDevice:
		out = append(out, topKernels(a.Names, late, s, steps, func(e extra) int64 { return e.late }, "starts late though launched in time:")...)
		out = append(out, topKernels(a.Names, late, s, steps, func(e extra) int64 { return e.slow }, "runs longer:")...)
		slices.SortStableFunc(out[1:], func(x, y result.Evidence) int { return cmp.Compare(y.Value, x.Value) })
		most := out[min(1, len(out)-1)].Value
		out = append(out[:1], slices.DeleteFunc(out[1:], func(e result.Evidence) bool { return e.Value < 0.05*most })...)
	case byHost:
		var starved int64
		for _, n := range s {
			starved += late[n].starved
		}
		if starved > 0 {
			out = append(out, result.Evidence{
				Text:  fmt.Sprintf("its device waits %s a step longer for a core than its peers'", metric.Duration(float64(starved)/steps)),
				Value: float64(starved) / steps, Unit: "ns", Step: -1,
			})
		}
		out = append(out, hostEvidence(a.Names, d.Ranks[i], late, s)...)
	case byComm:
		var sum int64
		for _, n := range s {
			sum += late[n].excess[byComm]
		}
		out = append(out, result.Evidence{
			Text:  fmt.Sprintf("it leaves collectives %s a step later than its peers", metric.Duration(float64(sum)/steps)),
			Value: float64(sum) / steps, Unit: "ns", Step: -1,
		})
	}
	return append(append(out, arrivals), work...)
}

// workEvidence compares the kernels of a rank with its peers'.
func (d *Domain) workEvidence(i int, s []int) []result.Evidence {
	kernels, peerKernels := d.perStep(i, s, func(j, n int) float64 {
		if r := d.Ranks[j]; r.First <= n && n < r.First+len(r.Steps) {
			return float64(r.Steps[n-r.First].Kernels)
		}
		return 0
	})
	work, peerWork := d.perStep(i, s, func(j, n int) float64 {
		if w := d.work[j][n]; w != nil {
			return float64(w.total)
		}
		return 0
	})
	same := "the same"
	if kernels != peerKernels {
		same = fmt.Sprintf("against %.0f", peerKernels)
	}
	return []result.Evidence{{
		Text:  fmt.Sprintf("%.0f kernels a step, %s on its peers", kernels, same),
		Value: kernels, Peers: peerKernels, Unit: "count", Step: -1,
	}, {
		Text:  fmt.Sprintf("%s of own work on the device a step against %s", metric.Duration(work), metric.Duration(peerWork)),
		Value: work, Peers: peerWork, Unit: "ns", Step: -1,
	}}
}

// excessEvidence says of what the late rank has more than a rank in good time.
func excessEvidence(late []lateness, s []int) result.Evidence {
	var sum [numCauses]int64
	var total int64
	for _, n := range s {
		for c, ns := range late[n].excess {
			sum[c] += ns
			total += max(ns, 0)
		}
	}
	text := "from collective to collective it takes longer than a rank in good time, a step, by"
	sep := " "
	for c, ns := range sum {
		if ns*50 > total && ns > 0 { // above 2 %
			text += fmt.Sprintf("%s%s (%s)", sep, metric.Duration(float64(ns)/float64(len(s))), excessNames[c])
			sep = ", "
		}
	}
	return result.Evidence{Text: text, Value: float64(total) / float64(len(s)), Unit: "ns", Step: -1}
}

// excessNames say what the causes stand for in excessEvidence.
var excessNames = [numCauses]string{
	"more or larger kernels, with their launching", "the same kernels on its device", "its host", "leaving collectives",
}

// perStep is the median of a figure over a stretch, for one rank and for the
// median of its peers.
func (d *Domain) perStep(i int, s []int, figure func(rank, step int) float64) (mine, peers float64) {
	var own, others []float64
	for _, n := range s {
		for j := range d.Ranks {
			if v := figure(j, n); j == i {
				own = append(own, v)
			} else {
				others = append(others, v)
			}
		}
	}
	return metric.MedianInPlace(own), metric.MedianInPlace(others)
}

// topKernels lists the kernels that explain most of an excess.
func topKernels(names *prep.Names, late []lateness, s []int, steps float64, of func(extra) int64, what string) []result.Evidence {
	type sum struct {
		ns, count int64
	}
	byName := map[int32]sum{}
	var total int64
	for _, n := range s {
		for key, e := range late[n].extra {
			ns := of(e)
			v := byName[names.Keys[key].Name]
			byName[names.Keys[key].Name] = sum{v.ns + ns, v.count + e.count}
			total += max(ns, 0)
		}
	}
	ids := slices.SortedFunc(maps.Keys(byName), func(x, y int32) int {
		return cmp.Or(cmp.Compare(byName[y].ns, byName[x].ns), cmp.Compare(x, y))
	})
	var out []result.Evidence
	for _, id := range ids {
		v := byName[id]
		if len(out) == 3 || float64(v.ns) < 0.05*float64(total) || v.ns <= 0 {
			break
		}
		text := fmt.Sprintf("%s %s: %s a step more than on its peers", what, kernel.Short(names.List[id]), metric.Duration(float64(v.ns)/steps))
		if more := float64(v.count) / steps; more >= 0.5 {
			text += fmt.Sprintf(", %.0f more of them", more)
		}
		out = append(out, result.Evidence{Text: text, Value: float64(v.ns) / steps, Unit: "ns", Name: names.List[id], Step: -1})
	}
	return out
}

// hostEvidence says which launches took the late host longer than its peer's,
// and what the launching thread did before the longest of them.
func hostEvidence(names *prep.Names, r *match.Rank, late []lateness, s []int) []result.Evidence {
	sum := map[int32]int64{}
	for _, n := range s {
		for key, ns := range late[n].host {
			sum[key] += ns
		}
	}
	keys := slices.SortedFunc(maps.Keys(sum), func(x, y int32) int {
		return cmp.Or(cmp.Compare(sum[y], sum[x]), cmp.Compare(x, y))
	})
	steps := float64(len(s))
	var out []result.Evidence
	for _, key := range keys[:min(3, len(keys))] {
		if sum[key] <= 0 || sum[key]*10 < sum[keys[0]] {
			break
		}
		// The step in which this launch was latest, and the launch.
		worst := s[0]
		for _, n := range s {
			if late[n].host[key] > late[worst].host[key] {
				worst = n
			}
		}
		text := fmt.Sprintf("its host needs %s a step more than its peers' to launch %s",
			metric.Duration(float64(sum[key])/steps), kernel.Short(names.List[names.Keys[key].Name]))
		doing := ""
		if i := longestLaunch(r, worst, key); i >= 0 {
			c := &r.Calls[i]
			doing = r.Host.Did(c, previousEnd(r, i), c.Start)
			text += fmt.Sprintf("; in step %d the launching thread did meanwhile: %s", worst, doing)
		}
		out = append(out, result.Evidence{Text: text, Value: float64(sum[key]) / steps, Unit: "ns", Name: doing, Step: worst})
	}
	return out
}

// longestLaunch is the call of a step, for a kernel key, that its host needed
// longest for; -1: none.
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

// previousEnd is when the launch before, on the same thread, had ended.
func previousEnd(r *match.Rank, i int) int64 {
	for j := i - 1; j >= 0; j-- {
		if r.Calls[j].Track == r.Calls[i].Track {
			return min(r.Calls[j].End, r.Calls[i].Start)
		}
	}
	return r.Calls[i].Start
}

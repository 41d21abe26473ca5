package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// evidence proves a straggler: where it was last, and what differs.
func evidence(a *aligned, d *judged, i int, late []lateness, s []int, cause int) []Evidence {
	last, of := 0, 0
	for _, n := range s {
		last += late[n].last
		of += late[n].of
	}
	out := []Evidence{excessEvidence(late, s)}
	arrivals := Evidence{
		Text:  fmt.Sprintf("last to arrive in %d of %d collectives of these steps", last, of),
		Value: float64(last), Peers: float64(of), Unit: "count", Step: -1,
	}
	work := d.workEvidence(i, s)
	// What shows the cause comes first, what is the same as elsewhere last.
	steps := float64(len(s))
	switch cause {
	case byWork:
		out = append(out, work...)
		out = append(out, topKernels(a.names, late, s, steps, func(e extra) int64 { return e.ns }, "more work in")...)
		return append(out, arrivals)
	case byDevice:
		out = append(out, topKernels(a.names, late, s, steps, func(e extra) int64 { return e.late }, "starts late though launched in time:")...)
		out = append(out, topKernels(a.names, late, s, steps, func(e extra) int64 { return e.slow }, "runs longer:")...)
		slices.SortStableFunc(out[1:], func(x, y Evidence) int { return cmp.Compare(y.Value, x.Value) })
		most := out[min(1, len(out)-1)].Value
		out = append(out[:1], slices.DeleteFunc(out[1:], func(e Evidence) bool { return e.Value < 0.05*most })...)
	case byHost:
		var starved int64
		for _, n := range s {
			starved += late[n].starved
		}
		if starved > 0 {
			out = append(out, Evidence{
				Text:  fmt.Sprintf("its device waits %s a step longer for a core than its peers'", metric.Duration(float64(starved)/steps)),
				Value: float64(starved) / steps, Unit: "ns", Step: -1,
			})
		}
		out = append(out, hostEvidence(a.names, d.ranks[i], late, s)...)
	case byComm:
		var sum int64
		for _, n := range s {
			sum += late[n].excess[byComm]
		}
		out = append(out, Evidence{
			Text:  fmt.Sprintf("it leaves collectives %s a step later than its peers", metric.Duration(float64(sum)/steps)),
			Value: float64(sum) / steps, Unit: "ns", Step: -1,
		})
	}
	return append(append(out, arrivals), work...)
}

// workEvidence compares the kernels of a rank with its peers'.
func (d *judged) workEvidence(i int, s []int) []Evidence {
	kernels, peerKernels := d.perStep(i, s, func(j, n int) float64 {
		if r := d.ranks[j]; r.first <= n && n < r.first+len(r.steps) {
			return float64(r.steps[n-r.first].kernels)
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
	return []Evidence{{
		Text:  fmt.Sprintf("%.0f kernels a step, %s on its peers", kernels, same),
		Value: kernels, Peers: peerKernels, Unit: "count", Step: -1,
	}, {
		Text:  fmt.Sprintf("%s of own work on the device a step against %s", metric.Duration(work), metric.Duration(peerWork)),
		Value: work, Peers: peerWork, Unit: "ns", Step: -1,
	}}
}

// excessEvidence says of what the late rank has more than a rank in good time.
func excessEvidence(late []lateness, s []int) Evidence {
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
	return Evidence{Text: text, Value: float64(total) / float64(len(s)), Unit: "ns", Step: -1}
}

// excessNames say what the causes stand for in excessEvidence.
var excessNames = [numCauses]string{
	"more or larger kernels, with their launching", "the same kernels on its device", "its host", "leaving collectives",
}

// perStep is the median of a figure over a stretch, for one rank and for the
// median of its peers.
func (d *judged) perStep(i int, s []int, figure func(rank, step int) float64) (mine, peers float64) {
	var own, others []float64
	for _, n := range s {
		for j := range d.ranks {
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
func topKernels(names *names, late []lateness, s []int, steps float64, of func(extra) int64, what string) []Evidence {
	type sum struct {
		ns, count int64
	}
	byName := map[int32]sum{}
	var total int64
	for _, n := range s {
		for key, e := range late[n].extra {
			ns := of(e)
			v := byName[names.keys[key].name]
			byName[names.keys[key].name] = sum{v.ns + ns, v.count + e.count}
			total += max(ns, 0)
		}
	}
	ids := slices.SortedFunc(maps.Keys(byName), func(x, y int32) int {
		return cmp.Or(cmp.Compare(byName[y].ns, byName[x].ns), cmp.Compare(x, y))
	})
	var out []Evidence
	for _, id := range ids {
		v := byName[id]
		if len(out) == 3 || float64(v.ns) < 0.05*float64(total) || v.ns <= 0 {
			break
		}
		text := fmt.Sprintf("%s %s: %s a step more than on its peers", what, kernel.Short(names.list[id]), metric.Duration(float64(v.ns)/steps))
		if more := float64(v.count) / steps; more >= 0.5 {
			text += fmt.Sprintf(", %.0f more of them", more)
		}
		out = append(out, Evidence{Text: text, Value: float64(v.ns) / steps, Unit: "ns", Name: names.list[id], Step: -1})
	}
	return out
}

// hostEvidence says which launches took the late host longer than its peer's,
// and what the launching thread did before the longest of them.
func hostEvidence(names *names, r *ranked, late []lateness, s []int) []Evidence {
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
	var out []Evidence
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
			metric.Duration(float64(sum[key])/steps), kernel.Short(names.list[names.keys[key].name]))
		doing := ""
		if i := longestLaunch(r, worst, key); i >= 0 {
			c := &r.calls[i]
			doing = r.host.did(c, previousEnd(r, i), c.start)
			text += fmt.Sprintf("; in step %d the launching thread did meanwhile: %s", worst, doing)
		}
		out = append(out, Evidence{Text: text, Value: float64(sum[key]) / steps, Unit: "ns", Name: doing, Step: worst})
	}
	return out
}

// longestLaunch is the call of a step, for a kernel key, that its host needed
// longest for; -1: none.
func longestLaunch(r *ranked, stepNo int, key int32) int {
	best := -1
	for i := range r.calls {
		c := &r.calls[i]
		if int(c.step)+r.first == stepNo && c.op >= 0 && r.ops[c.op].key == key && (best < 0 || c.host > r.calls[best].host) {
			best = i
		}
	}
	return best
}

// previousEnd is when the launch before, on the same thread, had ended.
func previousEnd(r *ranked, i int) int64 {
	for j := i - 1; j >= 0; j-- {
		if r.calls[j].track == r.calls[i].track {
			return min(r.calls[j].end, r.calls[i].start)
		}
	}
	return r.calls[i].start
}

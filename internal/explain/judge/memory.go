package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// This file tells the lateness of a host that arose in a step from lateness that the host brought along. If no host
// waits for another one, a host that fell behind by chance remains behind, and its rank is late in all later steps
// although its host is as fast as the others. The steps are then no independent tests. In such a case, only steps in
// which the host itself took longer count.

// hostTimes returns, for each step of a rank but the last, the time to the start of the next step, less waits.
func hostTimes(r *match.Rank) (times []int64) {
	waits := r.WaitsOf(r.Main)
	for k := range max(len(r.Steps)-1, 0) {
		from, to := r.Steps[k].Start, r.Steps[k+1].Start
		times = append(times, to-from-prep.Overlap(waits, from, to))
	}
	return times
}

// hostTime returns a rank's host time of a step. ok is false if the rank has no such step, or it is the rank's last.
func (d *Domain) hostTime(i, step int) (ns int64, ok bool) {
	at := step - d.Ranks[i].First
	if at < 0 || at >= len(d.hostTimes[i]) {
		return 0, false
	}
	return d.hostTimes[i][at], true
}

// ownTime returns by how much the host of a rank takes longer in a step than the median of the other hosts.
func (d *Domain) ownTime(i, step int) int64 {
	mine, ok := d.hostTime(i, step)
	var others []int64
	for j := range d.Ranks {
		if ns, known := d.hostTime(j, step); known && j != i {
			others = append(others, ns)
		}
	}
	if !ok || len(others) == 0 {
		return 0
	}
	return mine - int64(metric.MedianInPlace(others))
}

// carried reports whether the host of a rank brings most of its lateness along: in the median step, it begins the step
// later than the median of the other hosts by more than half of the cost, and the other hosts do not wait for that long.
// Hosts that wait are together again in each step. Hosts that always remain equally far apart wait, too, even if the
// trace does not show it.
func (d *Domain) carried(a *match.Aligned, i int, steps []int, cost int64) bool {
	var behind, waited, drifts []int64
	for _, n := range steps {
		drifts = append(drifts, max(d.ownTime(i, n), -d.ownTime(i, n)))
		var mine int64
		var others []int64
		for j, r := range d.Ranks {
			at := n - r.First
			if at < 0 || at >= len(r.Steps) {
				continue
			}
			if start := r.Wall(r.Steps[at].Start); j == i {
				mine = start
			} else {
				others = append(others, start)
				if ns, ok := d.hostTime(j, n); ok {
					waited = append(waited, r.Steps[at+1].Start-r.Steps[at].Start-ns)
				}
			}
		}
		if mine != 0 && len(others) > 0 {
			behind = append(behind, mine-int64(metric.MedianInPlace(others)))
		}
	}
	return len(behind) > 0 && 2*metric.MedianInPlace(behind) > float64(cost) && 2*metric.MedianInPlace(waited) < float64(cost) &&
		metric.MedianInPlace(drifts) > float64(limitOf(usualPeriod(a, steps)))
}

// mostMemory limits the autocorrelation of host times, since nothing is known about longer memories.
const mostMemory = 0.95

// hostMemory returns the number of steps for which the times of hosts are alike: a host that was slow by chance in one
// step remains slow for about so long. This is (1 + ρ) / (1 − ρ), where ρ is the autocorrelation of successive steps,
// of the hosts of all ranks that are not late. The usual estimate of ρ is too low for few steps (Marriott and Pope
// 1954), so it is corrected.
// The differences between the ranks that are not late count, too.
func (d *Domain) hostMemory(a *match.Aligned, late, steps []int) int {
	var both, square float64
	longest := 0
	for i := range d.Ranks {
		if slices.Contains(late, i) {
			continue
		}
		var times []float64
		var kinds []trace.StepKind
		sum, n := map[trace.StepKind]float64{}, map[trace.StepKind]float64{}
		for _, s := range steps {
			if ns, ok := d.hostTime(i, s); ok {
				kind := a.KindOf[s]
				times, kinds = append(times, float64(ns)), append(kinds, kind)
				sum[kind], n[kind] = sum[kind]+float64(ns), n[kind]+1
			}
		}
		for k, kind := range kinds {
			times[k] -= sum[kind] / n[kind]
			square += times[k] * times[k]
			if k > 0 {
				both += times[k-1] * times[k]
			}
		}
		longest = max(longest, len(times))
	}
	if square == 0 {
		return 1
	}
	alike := both / square
	alike = min(max(alike+(1+3*alike)/float64(longest), 0), mostMemory)
	return int(max((1+alike)/(1-alike), d.apartness(late, steps)))
}

// apartness returns by how much the means of the own times of hosts vary more between the ranks that are not late than
// they would if the times in all steps were independent.
func (d *Domain) apartness(late, steps []int) float64 {
	var between, within, ranks, n float64
	for i := range d.Ranks {
		if slices.Contains(late, i) {
			continue
		}
		var sum, square float64
		for _, s := range steps {
			ns := float64(d.ownTime(i, s))
			sum, square = sum+ns, square+ns*ns
		}
		n = float64(len(steps))
		mean := sum / n
		between += mean * mean
		within += square/n - mean*mean
		ranks++
	}
	if ranks < 2 || within == 0 {
		return 1
	}
	return n * between / within
}

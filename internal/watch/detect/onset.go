package detect

import (
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// The onset of a change is estimated once the alarm is certain. The estimate is the time, within the minute before the
// alarm, at which a change fits the rule's values best in the least-squares sense. For normal noise this is the maximum
// likelihood estimate. If the change took longer than a minute to become certain, the onset is taken from the
// cumulative sum instead. The minute may include the time in which the rule learned the baseline, before the cumulative
// sum began. A change is either a step or the exponential approach to another value. A step occurs if a rank becomes
// slow. An approach occurs if more requests are routed to one rank, where they accumulate for the lifetime of one
// request:
//
//	y(t) = a + b·(1 − exp(−(t − T)/τ))   for t > T, else a       b > 0, τ of lasts; 0: a step
//
// y depends on the rule. For imbalance, y is the ratio of the rank's value to the mean of the others. For latency, y is
// the latency figure. For throughput, y is the negative of the tokens/s in samples with a similar number of requests.
// Each y is the median of three samples, because gauges are sometimes read between two requests, when nothing runs.

// lookBack is the length of the period in which an onset is searched.
const lookBack = time.Minute

// lasts holds the candidates for the time constant τ, in s.
var lasts = []float64{0, 1, 2, 4, 8, 16}

// leastBefore is the minimum number of samples before an onset. These samples define the baseline.
const leastBefore = 5

// record appends a raw value to the series of the last minute.
func (s *state) record(e entry) {
	s.series = append(s.series, e)
	for len(s.series) > 1 && e.at.Sub(s.series[0].at).Abs() > lookBack {
		s.series = s.series[1:]
	}
}

// sinceLast returns the values that are searched for a change: the values since the end of the rule's last alarm. For
// an imbalance, the values are the ratios of the rank to the other ranks in past. For other rules, they are the
// recorded series.
func (s *state) sinceLast(past []*signals.Live, dp int) (out []entry) {
	all := s.series
	if s.rule.Kind == Imbalance {
		all = overOthers(past, signalOf(s.rule.Signal).of, dp)
	}
	now := 0.0
	if len(all) > 0 {
		now = all[len(all)-1].beside
	}
	for _, e := range all {
		if !e.at.Before(s.over) && math.Abs(e.beside-now) <= alike*now {
			out = append(out, e)
		}
	}
	return out
}

// overOthers returns, for each sample, the ratio of a rank's value to the mean of the other ranks.
func overOthers(past []*signals.Live, of func(*signals.Flow) float64, dp int) (out []entry) {
	for _, l := range past {
		own := signals.Unknown
		var others []float64
		for i := range l.Ranks {
			if v := of(&l.Ranks[i]); l.Ranks[i].DP == dp {
				own = v
			} else if signals.Known(v) {
				others = append(others, v)
			}
		}
		if v := own / metric.Mean(others); signals.Known(v) && !math.IsInf(v, 0) {
			out = append(out, entry{at: l.At, v: v})
		}
	}
	return out
}

// changed returns the times of the two consecutive samples between which the values began to rise. ok is false if there
// are too few samples.
func changed(past []entry) (after, onset time.Time, ok bool) {
	at, y := make([]float64, len(past)), make([]float64, len(past))
	for i, e := range past {
		at[i], y[i] = e.at.Sub(past[0].at).Seconds(), e.v
	}
	y = ofThree(y)
	best, first := math.Inf(1), -1
	g := make([]float64, len(y))
	for i := leastBefore; i < len(y); i++ {
		for _, tau := range lasts {
			for k := range g {
				switch since := at[k] - at[i-1]; {
				case k < i:
					g[k] = 0
				case tau == 0:
					g[k] = 1
				default:
					g[k] = 1 - math.Exp(-since/tau)
				}
			}
			if left, rises := residual(g, y); rises && left < best {
				best, first = left, i
			}
		}
	}
	if first < 0 {
		return after, onset, false
	}
	return past[first-1].at, past[first].at, true
}

// ofThree replaces each value by the median of three values: the value itself and its two neighbours. This filter
// preserves steps.
func ofThree(y []float64) []float64 {
	out := slices.Clone(y)
	for i := 1; i+1 < len(y); i++ {
		out[i] = metric.Median(y[i-1 : i+2])
	}
	return out
}

// residual returns the residual sum of squares of the best fit of a + b·g to y. rises reports whether b > 0.
func residual(g, y []float64) (left float64, rises bool) {
	n := float64(len(y))
	var sg, sy, sgg, sgy, syy float64
	for k := range y {
		sg, sy = sg+g[k], sy+y[k]
	}
	for k := range y {
		dg, dy := g[k]-sg/n, y[k]-sy/n
		sgg, sgy, syy = sgg+dg*dg, sgy+dg*dy, syy+dy*dy
	}
	if !(sgg > 0 && sgy > 0) {
		return syy, false
	}
	return syy - sgy*sgy/sgg, true
}

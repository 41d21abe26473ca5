package detect

import (
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// The onset of an imbalance is estimated once it is certain: of all moments in the minute before, it is the one from which
// on a change explains best what the rank had, by least squares, which is maximum likelihood where the noise is normal.
// (A change that took longer to be certain lies where its sum says.)
// A change is a step (a rank that becomes slow), or the approach to another value (requests that are sent to another
// rank gather there for as long as one lives):
//
//	y(t) = a + b·(1 − exp(−(t − T)/τ))   for t > T, else a       b > 0, τ of lasts; 0: a step
//
// y is what the rank has over the mean of the others, of three samples the median: gauges are read between two requests
// now and then, when nothing runs.

// lookBack is how far back an onset is looked for.
const lookBack = time.Minute

// lasts are the time constants that are tried, s.
var lasts = []float64{0, 1, 2, 4, 8, 16}

// leastBefore is how many samples there must be before an onset: they say what was usual.
const leastBefore = 5

// changed is between which two samples of the past, none of which is from before the end of another change, a rank
// began to stand out; ok is false where there are too few.
func changed(past []*signals.Live, of func(*signals.Flow) float64, dp int, over time.Time) (after, onset time.Time, ok bool) {
	var at, y []float64
	var when []time.Time
	for _, l := range past {
		if l.At.Before(over) {
			continue
		}
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
			at, y, when = append(at, l.At.Sub(past[0].At).Seconds()), append(y, v), append(when, l.At)
		}
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
	return when[first-1], when[first], true
}

// ofThree has for each value the median of it and its two neighbours, which leaves steps where they are.
func ofThree(y []float64) []float64 {
	out := slices.Clone(y)
	for i := 1; i+1 < len(y); i++ {
		out[i] = metric.Median(y[i-1 : i+2])
	}
	return out
}

// residual is the sum of squares that y = a + b·g leaves, with the best a and b; rises tells that b > 0.
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

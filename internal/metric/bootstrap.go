package metric

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a range that holds the true value with probability Level, in the unit of the sample. Level 0 means that
// there were no samples to take it from.
type Interval struct {
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	Level float64 `json:"level"`
}

// Bootstrap says how intervals are resampled. The zero value is 2000 resamples, 95 %, seed 0.
type Bootstrap struct {
	Resamples int     // 0 means 2000
	Level     float64 // 0 means 0.95
	Seed      uint64  // equal seeds and samples give equal intervals
}

// MedianInterval is the bootstrap percentile interval of the median of x (Efron, Annals of Statistics 7(1), 1979).
// With fewer than about ten samples it is too narrow: the ends of the sample are all it can reach.
func MedianInterval(x []float64, b Bootstrap) Interval {
	if len(x) == 0 {
		return Interval{}
	}
	r := newMedianResampler(x, b.source())
	return b.interval(r.draw)
}

// MedianDifference is the interval of median(b) − median(a), both samples resampled apart.
func MedianDifference(a, b []float64, o Bootstrap) Interval {
	if len(a) == 0 || len(b) == 0 {
		return Interval{}
	}
	src := o.source()
	ra, rb := newMedianResampler(a, src), newMedianResampler(b, src)
	return o.interval(func() float64 { return rb.draw() - ra.draw() })
}

// MedianRatio is the interval of median(b) / median(a), both samples resampled apart. It wants positive samples;
// Level is 0 when a holds one that is not.
func MedianRatio(a, b []float64, o Bootstrap) Interval {
	if len(a) == 0 || len(b) == 0 || slices.Min(a) <= 0 {
		return Interval{}
	}
	src := o.source()
	ra, rb := newMedianResampler(a, src), newMedianResampler(b, src)
	return o.interval(func() float64 { return rb.draw() / ra.draw() })
}

func (b Bootstrap) source() rand.Source { return rand.NewPCG(b.Seed, 0x9e3779b97f4a7c15) }

func (b Bootstrap) interval(draw func() float64) Interval {
	n, level := b.Resamples, b.Level
	if n <= 0 {
		n = 2000
	}
	if level <= 0 || level >= 1 {
		level = 0.95
	}
	d := make([]float64, n)
	for i := range d {
		d[i] = draw()
	}
	slices.Sort(d)
	tail := (1 - level) / 2
	return Interval{Lo: Quantile(d, tail), Hi: Quantile(d, 1-tail), Level: level}
}

// medianResampler draws the median of a resample without making the resample.
//
// A resample is n sorted samples picked by n uniform numbers, so its k-th smallest is picked by the k-th smallest of
// those, and that is Beta(k, n+1−k) distributed (David and Nagaraja, Order Statistics, section 2.3). The next larger
// one, needed when n is even, divides what remains above as Beta(1, n−k). So a draw costs two random numbers instead
// of n, and has exactly the distribution of the plain bootstrap.
type medianResampler struct {
	sorted []float64
	kth    distuv.Beta
	next   distuv.Beta
}

func newMedianResampler(x []float64, src rand.Source) medianResampler {
	n := len(x)
	k := (n + 1) / 2
	return medianResampler{
		sorted: slices.Sorted(slices.Values(x)),
		kth:    distuv.Beta{Alpha: float64(k), Beta: float64(n + 1 - k), Src: src},
		next:   distuv.Beta{Alpha: 1, Beta: float64(n - k), Src: src},
	}
}

func (r medianResampler) draw() float64 {
	n := len(r.sorted)
	u := r.kth.Rand()
	lo := r.at(u)
	if n%2 == 1 {
		return lo
	}
	return mid(lo, r.at(u+(1-u)*r.next.Rand()))
}

func (r medianResampler) at(u float64) float64 {
	n := len(r.sorted)
	return r.sorted[min(int(math.Floor(u*float64(n))), n-1)]
}

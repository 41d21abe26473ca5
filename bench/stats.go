package bench

import (
	"math"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Stats describes a sample of times, in ns. If N is 0, nothing was measured; the other fields are then meaningless and
// must not be shown as 0.
type Stats struct {
	N      int64   `json:"n"`
	Mean   float64 `json:"mean_ns"`
	Std    float64 `json:"std_ns"` // population standard deviation, as in numpy.std
	Min    float64 `json:"min_ns"`
	Median float64 `json:"median_ns"`
	P90    float64 `json:"p90_ns"` // with linear interpolation, as in numpy.percentile
	P95    float64 `json:"p95_ns"`
	P99    float64 `json:"p99_ns"`
	Max    float64 `json:"max_ns"`
	// MedianIn and P99In are confidence intervals of the median and of the 99th percentile. Their Level is 0 if there
	// are too few samples, or if the samples depend on each other, such as the gaps of one request.
	MedianIn Interval `json:"median_interval"`
	P99In    Interval `json:"p99_interval"`
	// More holds the percentiles that were asked for, in that order.
	More []Percentile `json:"percentiles,omitempty"`
}

// Percentile is a percentile of a sample of times.
type Percentile struct {
	P float64 `json:"p"` // from 0 to 100
	V float64 `json:"ns"`
}

// Interval contains the true value with probability Level. If Level is 0, there is no interval.
type Interval struct {
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	Level float64 `json:"level"`
}

const level = 0.95 // confidence level of all intervals

// sample is a list of weighted values. An event with 10 tokens adds 10 equal gaps as one entry of weight 10. A broken
// server that claims 10⁹ tokens therefore cannot exhaust memory.
type sample []weighted

type weighted struct {
	v float64
	n int64
}

func (s *sample) add(v float64, n int64) { *s = append(*s, weighted{v, n}) }

func (s sample) sort() {
	sorts.By(s, func(a, b weighted) int {
		if a.v < b.v {
			return -1
		}
		if a.v > b.v {
			return 1
		}
		return 0
	})
}

// stats computes the statistics, with more percentiles. It sorts s.
func (s sample) stats(more ...float64) Stats {
	if len(s) == 0 {
		return Stats{}
	}
	s.sort()
	var out Stats
	var sum float64
	for _, x := range s {
		out.N += x.n
		sum += x.v * float64(x.n)
	}
	out.Mean = sum / float64(out.N)
	var square float64
	for _, x := range s {
		square += (x.v - out.Mean) * (x.v - out.Mean) * float64(x.n)
	}
	out.Std = math.Sqrt(square / float64(out.N))
	out.Min, out.Max = s[0].v, s[len(s)-1].v
	q := s.quantiles(out.N, 0.5, 0.9, 0.95, 0.99)
	out.Median, out.P90, out.P95, out.P99 = q[0], q[1], q[2], q[3]
	for _, p := range more {
		out.More = append(out.More, Percentile{p, s.quantiles(out.N, p/100)[0]})
	}
	return out
}

// quantiles returns the quantiles ps, which must ascend, of a sorted sample with a total weight of n. The definition is
// type 7 of Hyndman and Fan, as in metric.Quantile.
func (s sample) quantiles(n int64, ps ...float64) []float64 {
	out := make([]float64, len(ps))
	i, below := 0, int64(0) // s[i] represents the values at positions from below onwards
	for k, p := range ps {
		at := p * float64(n-1)
		lo := int64(at)
		for lo >= below+s[i].n {
			below += s[i].n
			i++
		}
		out[k] = s[i].v
		if lo+1 == below+s[i].n && i+1 < len(s) {
			out[k] += (s[i+1].v - s[i].v) * (at - float64(lo))
		}
	}
	return out
}

// independent returns the statistics of independent values, such as one value per request, including confidence
// intervals.
func independent(v []float64, more ...float64) Stats {
	s := make(sample, len(v))
	for i, x := range v {
		s[i] = weighted{x, 1}
	}
	out := s.stats(more...)
	sorted := make([]float64, len(s))
	for i, x := range s {
		sorted[i] = x.v
	}
	out.MedianIn = quantileInterval(sorted, 0.5)
	out.P99In = quantileInterval(sorted, 0.99)
	return out
}

// quantileInterval returns the confidence interval of the population's p-quantile. For the 99th percentile it needs at
// least 368 values.
func quantileInterval(sorted []float64, p float64) Interval {
	lo, hi, ok := metric.QuantileInterval(sorted, p, level)
	if !ok {
		return Interval{}
	}
	return Interval{Lo: lo, Hi: hi, Level: level}
}

// meanInterval returns the mean of a few values, such as one per run, and its confidence interval by Student's t.
func meanInterval(v []float64) (mean float64, in Interval) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	if len(v) < 2 {
		return mean, Interval{}
	}
	var square float64
	for _, x := range v {
		square += (x - mean) * (x - mean)
	}
	half := metric.StudentT(len(v)-1) * math.Sqrt(square/(n-1)/n)
	return mean, Interval{Lo: mean - half, Hi: mean + half, Level: level}
}

package signals

import (
	"math"
	"slices"
	"strconv"
)

// Histogram is a Prometheus histogram: the number of observations up to each bound, summed over all series with the
// same name. The zero value is empty.
type Histogram struct {
	Bounds []float64 // ascending; the last may be +Inf
	Counts []float64 // cumulative, up to each bound
	Sum    float64
	Count  float64
}

// Since returns the observations that were made after the earlier sample was. The histogram was may be empty.
func (h *Histogram) Since(was *Histogram) Histogram { return h.with(was, -1) }

// Add returns the sum of h and o.
func (h *Histogram) Add(o *Histogram) Histogram { return h.with(o, 1) }

func (h *Histogram) with(o *Histogram, sign float64) Histogram {
	out := Histogram{Bounds: h.Bounds, Sum: h.Sum + sign*o.Sum, Count: h.Count + sign*o.Count}
	if !slices.Equal(h.Bounds, o.Bounds) {
		out.Bounds = slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.Bounds, o.Bounds))))
	}
	for _, b := range out.Bounds {
		out.Counts = append(out.Counts, h.upTo(b)+sign*o.upTo(b))
	}
	return out
}

// upTo returns the count of observations up to bound. If the histogram does not have that bound, it returns the count
// up to the next lower bound.
func (h *Histogram) upTo(bound float64) float64 {
	at, found := slices.BinarySearch(h.Bounds, bound)
	switch {
	case found:
		return h.Counts[at]
	case at == 0:
		return 0
	}
	return h.Counts[at-1]
}

// Mean returns the mean observation, or Unknown if nothing was observed.
func (h *Histogram) Mean() float64 {
	if h.Count <= 0 {
		return Unknown
	}
	return h.Sum / h.Count
}

// Quantile returns the p-quantile (p from 0 to 1) in the same way as PromQL's histogram_quantile. It assumes that
// observations are distributed evenly within a bucket and that the first bucket begins at 0. Observations above the
// last finite bound count as that bound. It returns Unknown if nothing was observed.
func (h *Histogram) Quantile(p float64) float64 {
	from, to, share := h.bucket(p)
	if math.IsInf(to, 1) {
		return from
	}
	return from + (to-from)*share
}

// Within returns the bounds of the bucket that holds the p-quantile. Below the first bound, from is 0; above the last
// finite bound, to is +Inf. Both are Unknown if nothing was observed.
func (h *Histogram) Within(p float64) (from, to float64) {
	from, to, _ = h.bucket(p)
	return from, to
}

// bucket returns the bucket of the p-quantile, and the position of the quantile in it, from 0 to 1.
func (h *Histogram) bucket(p float64) (from, to, at float64) {
	if h.Count <= 0 || len(h.Bounds) == 0 {
		return Unknown, Unknown, 0
	}
	rank, below := p*h.Count, 0.0
	for i, bound := range h.Bounds {
		if math.IsInf(bound, 1) {
			break
		}
		if n := h.Counts[i]; n >= rank && n > below {
			return from, bound, (rank - below) / (n - below)
		}
		below, from = h.Counts[i], bound
	}
	return from, math.Inf(1), 0
}

// mostBuckets is the maximum number of buckets of a histogram. Servers use a few dozen.
const mostBuckets = 1024

// observe adds one bucket of one series, with its cumulative count.
func (h *Histogram) observe(bound string, n float64) {
	le, err := strconv.ParseFloat(bound, 64)
	if err != nil || math.IsNaN(le) {
		return
	}
	at, found := slices.BinarySearch(h.Bounds, le)
	if !found {
		if len(h.Bounds) == mostBuckets {
			return
		}
		h.Bounds, h.Counts = slices.Insert(h.Bounds, at, le), slices.Insert(h.Counts, at, 0)
	}
	h.Counts[at] += n
}

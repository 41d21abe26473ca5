package signals

import (
	"math"
	"slices"
	"strconv"
)

// Histogram is a Prometheus histogram: how many observations were no greater than each
// bound. Of several series with the same name it is their sum. The zero value has nothing.
type Histogram struct {
	Bounds []float64 // ascending; the last may be +Inf
	Counts []float64 // up to each bound, that is, cumulative
	Sum    float64
	Count  float64
}

// Since is what was observed since an earlier sample, which may be empty.
func (h *Histogram) Since(was *Histogram) Histogram { return h.with(was, -1) }

// Add is the sum of both.
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

// upTo is the count up to a bound, or the last one before it.
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

// Mean is Unknown where nothing was observed.
func (h *Histogram) Mean() float64 {
	if h.Count <= 0 {
		return Unknown
	}
	return h.Sum / h.Count
}

// Quantile is the p-quantile (0 to 1) as PromQL's histogram_quantile has it: observations are
// taken to lie evenly within a bucket, the first of which begins at 0, and those beyond the
// last finite bound to lie at it. Unknown where nothing was observed.
func (h *Histogram) Quantile(p float64) float64 {
	if h.Count <= 0 || len(h.Bounds) == 0 {
		return Unknown
	}
	rank := p * h.Count
	below, from := 0.0, 0.0
	for i, bound := range h.Bounds {
		if math.IsInf(bound, 1) {
			break
		}
		if n := h.Counts[i]; n >= rank && n > below {
			return from + (bound-from)*(rank-below)/(n-below)
		}
		below, from = h.Counts[i], bound
	}
	return from
}

// observe adds the count of a bucket, of one of several series.
func (h *Histogram) observe(bound string, n float64) {
	le, err := strconv.ParseFloat(bound, 64)
	if err != nil || math.IsNaN(le) {
		return
	}
	at, found := slices.BinarySearch(h.Bounds, le)
	if !found {
		h.Bounds, h.Counts = slices.Insert(h.Bounds, at, le), slices.Insert(h.Counts, at, 0)
	}
	h.Counts[at] += n
}

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
func (h *Histogram) Since(was *Histogram) Histogram {
	out := Histogram{Bounds: h.Bounds, Sum: h.Sum - was.Sum, Count: h.Count - was.Count, Counts: make([]float64, len(h.Counts))}
	for i, n := range h.Counts {
		out.Counts[i] = n - was.upTo(h.Bounds[i], i)
	}
	return out
}

// Add is the sum of both.
func (h *Histogram) Add(o *Histogram) Histogram {
	if len(h.Bounds) == 0 {
		return *o
	}
	out := Histogram{Bounds: h.Bounds, Sum: h.Sum + o.Sum, Count: h.Count + o.Count, Counts: make([]float64, len(h.Counts))}
	for i, n := range h.Counts {
		out.Counts[i] = n + o.upTo(h.Bounds[i], i)
	}
	return out
}

// upTo is the count up to a bound, which mostly is the one at i.
func (h *Histogram) upTo(bound float64, i int) float64 {
	if i < len(h.Bounds) && h.Bounds[i] == bound {
		return h.Counts[i]
	}
	for k, b := range h.Bounds {
		if b == bound {
			return h.Counts[k]
		}
	}
	return 0
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

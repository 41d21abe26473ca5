package metric

import "slices"

// Summary describes samples in nanoseconds. All fields are 0 when there are none.
//
// Summaries are made from samples, never from other summaries: percentiles do not average.
type Summary struct {
	N      int     `json:"n"`
	Sum    int64   `json:"sum_ns"`
	Mean   float64 `json:"mean_ns"`
	Median float64 `json:"median_ns"`
	P90    float64 `json:"p90_ns"`
	P99    float64 `json:"p99_ns"`
	Min    int64   `json:"min_ns"`
	Max    int64   `json:"max_ns"`
}

// Summarize describes ns. It sorts ns in place and allocates nothing. Quantiles are those of Quantile.
func Summarize(ns []int64) Summary {
	if len(ns) == 0 {
		return Summary{}
	}
	slices.Sort(ns)
	s := Summary{
		N:      len(ns),
		Median: Quantile(ns, 0.5),
		P90:    Quantile(ns, 0.9),
		P99:    Quantile(ns, 0.99),
		Min:    ns[0],
		Max:    ns[len(ns)-1],
	}
	for _, v := range ns {
		s.Sum += v
	}
	s.Mean = float64(s.Sum) / float64(s.N)
	return s
}

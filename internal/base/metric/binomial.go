package metric

import "gonum.org/v1/gonum/stat/distuv"

// AtLeast is the probability of k or more successes in n trials of probability p each.
func AtLeast(k, n int, p float64) float64 {
	if k <= 0 {
		return 1
	}
	return 1 - distuv.Binomial{N: float64(n), P: p}.CDF(float64(k-1))
}

package metric

import "math"

// QuantileInterval bounds the p-quantile of the sampled distribution by two order statistics of the sorted sample. The
// method is exact for any distribution, because the number of samples below the quantile is binomial (David and
// Nagaraja, Order Statistics, section 7.1). Unlike a bootstrap interval, the interval keeps its confidence level in the
// tail. ok is false if the sample is too small.
func QuantileInterval[T Number](sorted []T, p, level float64) (lo, hi T, ok bool) {
	n := len(sorted)
	if n == 0 {
		return lo, hi, false
	}
	tail := (1 - level) / 2
	// below is the smallest k with P(X ≤ k) > tail. So the probability that fewer than k samples lie below the quantile
	// is at most tail.
	below := binomialQuantile(n, p, tail)
	// above follows by symmetry from the number of samples above the quantile.
	above := n - binomialQuantile(n, 1-p, tail)
	if below < 1 || above >= n {
		return lo, hi, false
	}
	return sorted[below-1], sorted[above], true
}

// MedianInterval bounds the median in the same way as QuantileInterval. If the sample is too small for the level, the
// interval extends from the smallest to the largest sample. The sample must not be empty.
func MedianInterval[T Number](sorted []T, level float64) (lo, hi T) {
	lo, hi, ok := QuantileInterval(sorted, 0.5, level)
	if !ok {
		lo, hi = sorted[0], sorted[len(sorted)-1]
	}
	return lo, hi
}

// binomialQuantile returns the smallest k with P(X ≤ k) > tail for X successes in n trials of probability p.
func binomialQuantile(n int, p, tail float64) int {
	logP, logQ := math.Log(p), math.Log1p(-p)
	all, _ := math.Lgamma(float64(n + 1))
	mean, sigma := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	k := max(int(mean-10*sigma), 0) // the probability of a value below k is less than 10⁻²²
	var sum float64
	for ; k < n; k++ {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		sum += math.Exp(all - a - b + float64(k)*logP + float64(n-k)*logQ)
		if sum > tail {
			break
		}
	}
	return k
}

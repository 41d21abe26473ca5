package metric

import "math"

// The Mann-Whitney U test decides by ranks alone which of two samples tends to be larger, so outliers and skewed
// distributions of latency do not distort the result. H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics
// 18(1), 1947.

// exactLimit is the largest na+nb for an exact p. Up to this limit every count is below C(50,25) = 1.3e14 and therefore
// exact in a float64. Above it the normal approximation is correct to three digits.
const exactLimit = 50

// rankSum is the U of two samples and the distribution that U has if both samples come from the same population.
type rankSum struct {
	na, nb int
	u      float64   // number of pairs (a, b) with b > a, plus half of the equal pairs
	sigma  float64   // standard deviation of U, corrected for ties; 0 when all samples are equal
	counts []float64 // counts[k] of total arrangements have U = k; nil: use the normal approximation
	total  float64
}

// newRankSum expects both samples in ascending order.
func newRankSum(a, b []float64) rankSum {
	r := rankSum{na: len(a), nb: len(b)}
	var ties float64 // Σ t³ − t over groups of t equal values
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		var v float64
		if j == len(b) || (i < len(a) && a[i] <= b[j]) {
			v = a[i]
		} else {
			v = b[j]
		}
		i0, j0 := i, j
		for i < len(a) && a[i] == v {
			i++
		}
		for j < len(b) && b[j] == v {
			j++
		}
		ta, tb := float64(i-i0), float64(j-j0)
		r.u += tb * (float64(i0) + ta/2)
		t := ta + tb
		ties += t*t*t - t
	}
	n := float64(r.na + r.nb)
	if n < 2 {
		return r
	}
	r.sigma = math.Sqrt(float64(r.na) * float64(r.nb) / 12 * (n + 1 - ties/(n*(n-1))))
	if ties == 0 && r.na+r.nb <= exactLimit {
		r.counts, r.total = arrangements(r.na, r.nb)
	}
	return r
}

// arrangements counts, for each value of U, the orders of na and nb distinct samples that result in this value. The
// counts are the coefficients of the Gaussian binomial: the product of (1 − q^(nb+i)) / (1 − q^i) for i = 1 … na.
func arrangements(na, nb int) (counts []float64, total float64) {
	na, nb = min(na, nb), max(na, nb)
	c := make([]float64, na*nb+1)
	c[0] = 1
	for i := 1; i <= na; i++ {
		for k := len(c) - 1; k >= nb+i; k-- {
			c[k] -= c[k-nb-i]
		}
		for k := i; k < len(c); k++ {
			c[k] += c[k-i]
		}
	}
	for _, v := range c {
		total += v
	}
	return c, total
}

// atMost returns the probability that U ≤ u. u must be in the lower half of the distribution.
func (r rankSum) atMost(u float64) float64 {
	if r.counts != nil {
		var sum float64
		for k := 0; k < len(r.counts) && float64(k) <= u; k++ {
			sum += r.counts[k]
		}
		return sum / r.total
	}
	if r.sigma == 0 {
		return 1
	}
	mean := float64(r.na) * float64(r.nb) / 2
	z := (u + 0.5 - mean) / r.sigma // + 0.5: continuity correction
	return math.Erfc(-z/math.Sqrt2) / 2
}

// p returns the two-sided p-value: the probability of a U at least as far from the mean as r.u.
func (r rankSum) p() float64 {
	if r.na == 0 || r.nb == 0 {
		return 1
	}
	return min(1, 2*r.atMost(min(r.u, float64(r.na)*float64(r.nb)-r.u)))
}

// least returns the smallest p that samples of these sizes can reach: 2 / C(na+nb, na).
func (r rankSum) least() float64 {
	if r.na == 0 || r.nb == 0 {
		return 1
	}
	log := math.Log(2)
	for i := 1; i <= r.na; i++ {
		log += math.Log(float64(i)) - math.Log(float64(r.nb+i))
	}
	return min(1, math.Exp(log))
}

// cut returns the largest k with 2·P(U ≤ k−1) ≤ alpha, or 0 if there is none. The k-th smallest and the k-th largest of
// the na·nb differences bound the shift with a confidence of at least 1 − alpha.
func (r rankSum) cut(alpha float64) int {
	lo, hi := 0, r.na*r.nb/2
	for lo < hi {
		k := (lo + hi + 1) / 2
		if 2*r.atMost(float64(k-1)) <= alpha {
			lo = k
		} else {
			hi = k - 1
		}
	}
	return lo
}

package metric

import (
	"math"
	"slices"
)

// Comparison is the result of comparing two samples, a and b, of one metric. a is the baseline.
type Comparison struct {
	NA      int     `json:"n_a"`
	NB      int     `json:"n_b"`
	MedianA float64 `json:"median_a"`
	MedianB float64 `json:"median_b"`

	// Shift is the Hodges-Lehmann estimate of the shift from a to b: the median of all differences b − a, in the unit
	// of the samples, with its 95 % interval.
	Shift   float64 `json:"shift"`
	ShiftLo float64 `json:"shift_lo"`
	ShiftHi float64 `json:"shift_hi"`

	// Relative reports whether Change, Lo and Hi are set. They are set if MedianA is not 0.
	Relative bool `json:"relative"`
	// Change is (MedianB − MedianA) / |MedianA|, with its 95 % interval Lo to Hi. Lo ≤ Change ≤ Hi always holds.
	Change float64 `json:"change"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`

	// P is the two-sided p-value of the Mann-Whitney U test: exact if there are no ties and NA+NB ≤ 50, otherwise from
	// the normal approximation with continuity and tie correction.
	P float64 `json:"p"`
	// Enough is false if samples of these sizes (for example, three and three) cannot yield p ≤ 0.05 even if they are
	// completely separated. In that case Lo and Hi are the observed extremes, not a 95 % interval, and reports should
	// say "not enough samples".
	Enough bool `json:"enough"`
}

// Compare compares b with a. NaN and infinities are dropped and not counted. Neither slice is changed.
//
// The interval is that of Hodges and Lehmann (Hollander and Wolfe, Nonparametric Statistical Methods, section 4.3). It
// is used instead of a bootstrap for three reasons. It inverts the same test as P, so it excludes 0 exactly when P ≤
// 0.05, and interval and P never contradict each other in a report. It keeps its confidence level even for samples of
// four values, for which a bootstrap interval of the median is far too narrow. It needs no random numbers. Compare(b,
// a) returns the negated shifts and the same P.
//
// Change is estimated from ratios instead of differences if all values are positive. Its interval contains each factor
// by which a must be multiplied until the test no longer distinguishes it from b, and the factor that makes the medians
// equal. A fall can therefore not exceed 100 %.
func Compare(a, b []float64) Comparison {
	a, b = sortedNumbers(a), sortedNumbers(b)
	c := Comparison{NA: len(a), NB: len(b), MedianA: Quantile(a, 0.5), MedianB: Quantile(b, 0.5), P: 1}
	if c.NA == 0 || c.NB == 0 {
		return c
	}
	r := newRankSum(a, b)
	c.P = r.p()
	c.Enough = r.least() <= 0.05

	pairs := c.NA * c.NB
	k := max(r.cut(0.05), 1)
	c.ShiftLo = nthDifference(a, b, k)
	c.ShiftHi = nthDifference(a, b, pairs+1-k)
	c.Shift = mid(nthDifference(a, b, (pairs+1)/2), nthDifference(a, b, pairs/2+1))
	if c.MedianA != 0 {
		base := math.Abs(c.MedianA)
		c.Relative = true
		c.Change = (c.MedianB - c.MedianA) / base
		c.Lo, c.Hi = c.ShiftLo/base, c.ShiftHi/base
		if a[0] > 0 && b[0] > 0 {
			la, lb := logs(a), logs(b)
			c.Lo, c.Hi = math.Expm1(nthDifference(la, lb, k)), math.Expm1(nthDifference(la, lb, pairs+1-k))
		}
		if a[0] >= 0 && b[0] >= 0 {
			c.Lo = max(c.Lo, -1)
		}
		c.Lo, c.Hi = min(c.Lo, c.Change), max(c.Hi, c.Change)
	}
	return c
}

func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}

func sortedNumbers(x []float64) []float64 {
	s := slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	slices.Sort(s)
	return s
}

// nthDifference returns the k-th smallest (from 1) of all differences b[j] − a[i]. Both samples are in ascending order.
// It bisects on the bits of the result. For each candidate it counts the differences at or below the candidate by a
// walk along both samples. This takes 64·(na+nb) steps and no memory, whereas a list of the differences would have
// na·nb numbers.
func nthDifference(a, b []float64, k int) float64 {
	lo, hi := ordinal(b[0]-a[len(a)-1]), ordinal(b[len(b)-1]-a[0])
	for lo < hi {
		m := lo + int64(uint64(hi-lo)/2)
		if countDifferences(a, b, fromOrdinal(m)) >= k {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return fromOrdinal(lo)
}

// countDifferences returns the number of differences b[j] − a[i] that are ≤ d.
func countDifferences(a, b []float64, d float64) int {
	n, j := 0, 0
	for _, v := range a {
		for j < len(b) && b[j]-v <= d {
			j++
		}
		n += j
	}
	return n
}

// ordinal maps floats to integers in the same order (IEEE 754 sign and magnitude to two's complement).
func ordinal(f float64) int64 {
	i := int64(math.Float64bits(f))
	if i < 0 {
		return math.MinInt64 - i
	}
	return i
}

func fromOrdinal(i int64) float64 {
	if i < 0 {
		i = math.MinInt64 - i
	}
	return math.Float64frombits(uint64(i))
}

// AdjustFDR returns the Benjamini-Hochberg adjusted values of p, in the same order. If a caller accepts the tests with
// adjusted values ≤ q, the expected fraction of false positives among them stays below q. Use it wherever many kernels
// are compared at once. Y. Benjamini and Y. Hochberg, Journal of the Royal Statistical Society B 57(1), 1995.
func AdjustFDR(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] > p[j]:
			return -1
		case p[i] < p[j]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	least := 1.0
	for k, i := range order {
		rank := len(p) - k
		least = min(least, p[i]*float64(len(p))/float64(rank))
		adjusted[i] = least
	}
	return adjusted
}

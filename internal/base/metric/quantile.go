// Package metric is pure arithmetic on samples: quantiles, comparisons of two runs, and the formatting of numbers with
// units.
//
// Samples are float64, or integers such as nanoseconds. Results are float64 in the unit of the sample. The package
// reads no clock and no file, and draws no random numbers. Samples must not contain NaN unless a function says that it
// drops them.
package metric

import (
	"cmp"
	"slices"
)

// Number is the type of samples. Results are less exact for integers beyond 2^53 (104 days in ns), because a float64
// cannot hold their last bits.
type Number interface {
	~int | ~int32 | ~int64 | ~float32 | ~float64
}

// Quantile returns the p-quantile (p is clamped to 0 ≤ p ≤ 1) of samples in ascending order, or 0 if there are no
// samples.
//
// The definition is type 7 of Hyndman and Fan (The American Statistician 50(4), 1996), which is numpy's default: linear
// interpolation between the two samples around position p·(n−1), counted from 0. gonum's LinInterp is not used, because
// it is type 4 and disagrees with numpy on short samples.
func Quantile[T Number](sorted []T, p float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	p = min(max(p, 0), 1)
	at := p * float64(n-1)
	i := int(at)
	if i >= n-1 {
		return float64(sorted[n-1])
	}
	lo, hi := float64(sorted[i]), float64(sorted[i+1])
	if lo == hi {
		return lo // also avoids NaN from Inf-Inf
	}
	return lo + (hi-lo)*(at-float64(i))
}

// Median returns the 0.5-quantile of samples in any order, or 0 if there are no samples. It does not change x.
func Median[T Number](x []T) float64 {
	return MedianInPlace(slices.Clone(x))
}

// MedianInPlace is like Median but reorders x and allocates nothing. It takes linear time on average.
func MedianInPlace[T Number](x []T) float64 {
	n := len(x)
	if n == 0 {
		return 0
	}
	hi := selectNth(x, n/2)
	if n%2 == 1 {
		return float64(hi)
	}
	// selectNth has moved the smaller half of the values to the front.
	return mid(float64(slices.Max(x[:n/2])), float64(hi))
}

// MedianWithout returns the median of a sorted list without the values in drop, all of which it contains. It sorts drop.
// It returns 0 if no values remain.
func MedianWithout[T Number](sorted, drop []T) float64 {
	n := len(sorted) - len(drop)
	if n <= 0 {
		return 0
	}
	slices.Sort(drop)
	at := func(k int) float64 { // the k-th of the values that remain
		same := 0
		for i, v := range drop {
			if same++; i == 0 || v != drop[i-1] {
				same = 0
			}
			if first, _ := slices.BinarySearch(sorted, v); first+same <= k {
				k++
			}
		}
		return float64(sorted[k])
	}
	if n%2 == 1 {
		return at(n / 2)
	}
	return mid(at(n/2-1), at(n/2))
}

// MAD returns the median absolute deviation from the median, unscaled (multiply by 1.4826 to estimate the standard
// deviation of a normal sample), or 0 if there are no samples. It does not change x.
func MAD[T Number](x []T) float64 {
	return MADInPlace(slices.Clone(x))
}

// MADInPlace is like MAD but sorts x and allocates nothing.
func MADInPlace[T Number](x []T) float64 {
	slices.Sort(x)
	n := len(x)
	if n == 0 {
		return 0
	}
	m := Quantile(x, 0.5)
	// The deviations increase from the median outwards in both directions, so a merge of the two directions finds the k
	// smallest deviations.
	right, _ := slices.BinarySearchFunc(x, m, func(v T, m float64) int { return cmp.Compare(float64(v), m) })
	left := right - 1
	var prev, last float64
	for range n/2 + 1 {
		prev = last
		if right >= n || (left >= 0 && m-float64(x[left]) <= float64(x[right])-m) {
			last = m - float64(x[left])
			left--
		} else {
			last = float64(x[right]) - m
			right++
		}
	}
	if n%2 == 1 {
		return last
	}
	return mid(prev, last)
}

// Mean returns the arithmetic mean of x, or 0 if x is empty.
func Mean[T Number](x []T) float64 {
	if len(x) == 0 {
		return 0
	}
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// mid returns the middle of a and b, a ≤ b. The computation is the same as in Quantile, so that Median and the
// 0.5-quantile agree to the last bit.
func mid(a, b float64) float64 {
	if a == b {
		return a
	}
	return a + (b-a)*0.5
}

// selectNth reorders x such that x[k] has the value that it would have in sorted order and no element before x[k] is
// larger. It returns x[k]. It uses Hoare's quickselect with the median of three as pivot.
func selectNth[T Number](x []T, k int) T {
	lo, hi := 0, len(x)-1
	for hi-lo > 16 {
		m := lo + (hi-lo)/2
		if x[m] < x[lo] {
			x[m], x[lo] = x[lo], x[m]
		}
		if x[hi] < x[lo] {
			x[hi], x[lo] = x[lo], x[hi]
		}
		if x[hi] < x[m] {
			x[hi], x[m] = x[m], x[hi]
		}
		pivot := x[m]
		i, j := lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k] // all elements between j and i equal the pivot
		}
	}
	slices.Sort(x[lo : hi+1])
	return x[k]
}

// Share returns part/whole, or 0 if whole is 0.
func Share[T Number](part, whole T) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// LowerMedian returns the median of x, or the lower of the two middle values, and sorts x. With two ranks, the larger
// value thus exceeds the median.
func LowerMedian(x []int64) int64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[(len(x)-1)/2]
}

package metric

import (
	"math"
	"sort"
)

// Estimate is an estimated value, with its uncertainty.
type Estimate struct {
	Value    float64
	Variance float64 // of Value
	DF       int     // degrees of freedom of Variance
}

// seriesBlocks is the number of blocks into which a series is divided, unless it has fewer values.
const seriesBlocks = 10

// SeriesMean returns the mean of a series whose neighbouring values may be correlated. The variance is that of
// overlapping batch means (Meketon and Schmeiser, Winter Simulation Conference 1984) with blocks of ∛n values. It has
// the properties of a moving-block bootstrap and needs no random numbers. A few extreme values widen the interval.
func SeriesMean(x []float64) Estimate {
	n := len(x)
	a := Estimate{Value: Mean(x)}
	if n < 2 {
		return a
	}
	block := max(1, min(int(math.Round(math.Cbrt(float64(n)))), n/seriesBlocks))
	var sum float64
	for i := range n - block + 1 {
		d := Mean(x[i:i+block]) - a.Value
		sum += d * d
	}
	a.Variance = sum / float64(n-block+1) * float64(block) / float64(n-block)
	a.DF = max(n/block-1, 1)
	return a
}

// Change returns b/a − 1 with its 95 % interval, which is symmetric for the logarithm of the ratio. It returns zeros if
// a value is not positive.
func (a Estimate) Change(b Estimate) (change, lo, hi float64) {
	if a.Value <= 0 || b.Value <= 0 {
		return 0, 0, 0
	}
	va, vb := a.Variance/(a.Value*a.Value), b.Variance/(b.Value*b.Value)
	ratio, half := b.Value/a.Value, halfWidth(va, vb, a.DF, b.DF)
	return ratio - 1, ratio*math.Exp(-half) - 1, ratio*math.Exp(half) - 1
}

// Difference returns b − a with its 95 % interval.
func (a Estimate) Difference(b Estimate) (diff, lo, hi float64) {
	diff = b.Value - a.Value
	half := halfWidth(a.Variance, b.Variance, a.DF, b.DF)
	return diff, diff - half, diff + half
}

// halfWidth returns half the width of the 95 % interval of a difference, given the variances of its terms (Welch).
func halfWidth(va, vb float64, dfA, dfB int) float64 {
	if va+vb == 0 {
		return 0
	}
	df := (va + vb) * (va + vb) / (va*va/float64(max(dfA, 1)) + vb*vb/float64(max(dfB, 1)))
	return StudentT(max(int(df), 1)) * math.Sqrt(va+vb)
}

// StudentT returns the value t such that the magnitude of a Student's t variable with df degrees of freedom exceeds t
// with probability 0.05. The probability within ±t is a finite series (Abramowitz and Stegun 26.7.3, 26.7.4). This
// probability increases with t, so StudentT finds t by a search.
func StudentT(df int) float64 {
	within := func(t float64) float64 {
		theta := math.Atan(t / math.Sqrt(float64(df)))
		s, c := math.Sincos(theta)
		if df == 1 {
			return 2 * theta / math.Pi
		}
		term, sum := 1.0, 0.0
		from := 1
		if df%2 == 1 {
			term, from = c, 2
		}
		for k := from; k < df; k += 2 {
			sum += term
			term *= c * c * float64(k) / float64(k+1)
		}
		if df%2 == 1 {
			return 2 / math.Pi * (theta + s*sum)
		}
		return s * sum
	}
	const steps = 1 << 22 // t is searched in steps of 2⁻¹⁷ up to 32
	i := sort.Search(steps, func(i int) bool { return within(float64(i)*0x1p-17) >= 0.95 })
	return float64(i) * 0x1p-17
}

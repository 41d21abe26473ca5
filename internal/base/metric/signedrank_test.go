package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPseudoMedian compares the centre and the interval with R's wilcox.test(x, conf.int = TRUE, exact = TRUE).
func TestPseudoMedian(t *testing.T) {
	for _, c := range []struct {
		name           string
		x              []float64
		centre, lo, hi float64
	}{
		// Hollander and Wolfe 1973, p. 29: depression scores of nine patients.
		{"nine patients", []float64{-0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010}, -0.46, -0.786, -0.01},
		{"one value", []float64{3}, 3, 3, 3},
		{"too few for the level", []float64{1, 2, 4}, 2.25, 1, 4},
	} {
		centre, lo, hi := PseudoMedian(c.x, 0.95)
		if math.Abs(centre-c.centre) > 1e-9 || math.Abs(lo-c.lo) > 1e-9 || math.Abs(hi-c.hi) > 1e-9 {
			t.Errorf("%s: got %v (%v to %v), want %v (%v to %v)", c.name, centre, lo, hi, c.centre, c.lo, c.hi)
		}
	}
}

// TestPseudoMedianBorrows: time that moves from one step to the next leaves the centre unchanged.
func TestPseudoMedianBorrows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{12, 64, 1000} {
		x := make([]float64, n)
		last := 0.0
		for i := range x {
			moved := 4 * r.Float64()
			x[i], last = 10+moved-last, moved
		}
		if centre, lo, hi := PseudoMedian(x, 0.95); math.Abs(centre-10) > 1 || lo > 10 || hi < 10 {
			t.Errorf("%d values about 10: got %v (%v to %v)", n, centre, lo, hi)
		}
	}
}

// TestPseudoMedianLevel: intervals contain the centre as often as they promise.
func TestPseudoMedianLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{6, 8, 20, 200} {
		const trials = 1000
		held := 0
		for range trials {
			x := make([]float64, n)
			for i := range x {
				x[i] = r.NormFloat64()
			}
			if _, lo, hi := PseudoMedian(x, 0.95); lo <= 0 && hi >= 0 {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.93 {
			t.Errorf("%d values: %.1f %% of the intervals hold the centre", n, 100*share)
		}
	}
}

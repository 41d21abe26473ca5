package metric

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 5, 0.5, 1}, {5, 5, 0.5, 1. / 32}, {3, 4, 0.5, 5. / 16}, {1, 2, 0.25, 1 - 9./16}, {6, 5, 0.5, 0}} {
		if got := AtLeast(c.k, c.n, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d or more of %d at %g: %g, want %g", c.k, c.n, c.p, got, c.want)
		}
	}
}

// The distributions match gonum's.
func TestDistributions(t *testing.T) {
	for n := 1; n <= 400; n += 7 {
		for k := 1; k <= n; k += 1 + n/9 {
			for _, p := range []float64{1. / 512, 0.125, 0.5, 0.9} {
				want := 1 - distuv.Binomial{N: float64(n), P: p}.CDF(float64(k-1))
				if got := AtLeast(k, n, p); math.Abs(got-want) > 1e-12 {
					t.Errorf("%d or more of %d at %g: %g, want %g", k, n, p, got, want)
				}
			}
		}
	}
	for u := 0.; u <= 30*31; u += 13 {
		r := rankSum{na: 30, nb: 31, sigma: 68.9}
		if got, want := r.atMost(u), distuv.UnitNormal.CDF((u+0.5-465)/68.9); math.Abs(got-want) > 1e-15 {
			t.Errorf("U at most %g: %g, want %g", u, got, want)
		}
	}
}

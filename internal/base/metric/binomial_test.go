package metric

import (
	"math"
	"testing"
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

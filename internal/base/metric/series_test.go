package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

// stalled returns n steps of about 1; stalls of them, spread evenly, last by longer.
func stalled(r *rand.Rand, n, stalls int, longer float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 + 0.03*r.NormFloat64()
	}
	for i := range stalls {
		x[i*n/stalls] += longer
	}
	return x
}

func TestSeriesMean(t *testing.T) {
	a := SeriesMean([]float64{1, 2, 3, 4})
	// The variance of a mean of independent values: 5/3 / 4.
	if a.Value != 2.5 || math.Abs(a.Variance-5.0/12) > 1e-12 || a.DF != 3 {
		t.Errorf("%+v", a)
	}
	if d, lo, hi := a.Difference(SeriesMean([]float64{5, 5, 5, 5})); d != 2.5 || math.Abs(hi-d-StudentT(3)*math.Sqrt(5.0/12)) > 1e-12 || math.Abs(d-lo-hi+d) > 1e-12 {
		t.Errorf("difference %v in %v to %v", d, lo, hi)
	}
	for _, x := range [][]float64{nil, {1}, {0, 0, 0}} {
		if c, lo, hi := SeriesMean(x).Change(a); math.IsNaN(c+lo+hi) || lo > c || c > hi {
			t.Errorf("%v: change %v in %v to %v", x, c, lo, hi)
		}
	}
}

// TestSeriesMeanStalls: a mean shows stalls in a few steps, and equal series seldom differ.
func TestSeriesMeanStalls(t *testing.T) {
	const trials = 300
	for _, c := range []struct {
		name        string
		steps, of   int
		longer      float64
		least, most int // trials in which the interval lies above 5 %
	}{
		{"equal", 20, 0, 0, 0, 0},
		{"4 % on each step, no stall", 20, 20, 0.04, 0, 3},
		{"five stalls, 64 % in all", 20, 5, 0.64 * 4, 290, trials},
		{"ten stalls, 31 % in all", 40, 10, 0.31 * 4, 290, trials},
		{"one stall, 31 % in all", 20, 1, 0.31 * 20, 0, 0},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		above := 0
		for range trials {
			a, b := SeriesMean(stalled(r, c.steps, 0, 0)), SeriesMean(stalled(r, c.steps, c.of, c.longer))
			change, lo, hi := a.Change(b)
			if lo > change || change > hi {
				t.Fatalf("%s: %v outside %v to %v", c.name, change, lo, hi)
			}
			if lo > 0.05 {
				above++
			}
		}
		if above < c.least || above > c.most {
			t.Errorf("%s: above 5 %% in %d of %d trials, want %d to %d", c.name, above, trials, c.least, c.most)
		}
	}
}

// TestSeriesMeanLevel: equal processes differ in about 5 % of trials, also with random stalls.
func TestSeriesMeanLevel(t *testing.T) {
	const trials = 2000
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{5, 10, 30} {
		differ := 0
		draw := func() Estimate {
			x := stalled(r, n, 0, 0)
			for i := range x {
				if r.Float64() < 0.1 {
					x[i] *= 3
				}
			}
			return SeriesMean(x)
		}
		for range trials {
			if _, lo, hi := draw().Change(draw()); lo > 0 || hi < 0 {
				differ++
			}
		}
		if differ > trials*8/100 {
			t.Errorf("%d steps: %d of %d equal pairs differ", n, differ, trials)
		}
	}
}

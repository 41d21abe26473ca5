package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// near ignores the last bits: numpy and scipy add in another order.
func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))
}

var digits = []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}

func TestQuantile(t *testing.T) {
	tests := []struct {
		name string
		x    []float64
		p    float64
		want float64
	}{
		{"none", nil, 0.5, 0},
		{"one", []float64{7}, 0.99, 7},
		// numpy.quantile(digits, p)
		{"min", digits, 0, 1},
		{"tied low", digits, 0.1, 1},
		{"quarter", digits, 0.25, 2.25},
		{"half", digits, 0.5, 3.5},
		{"p90", digits, 0.9, 6.3},
		{"p99", digits, 0.99, 8.73},
		{"max", digits, 1, 9},
		{"below range", digits, -1, 1},
		{"above range", digits, 2, 9},
		{"infinite tail", []float64{1, math.Inf(1), math.Inf(1)}, 0.75, math.Inf(1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Quantile(slices.Sorted(slices.Values(tt.x)), tt.p); !near(got, tt.want) {
				t.Errorf("Quantile(%v, %v) = %v, want %v", tt.x, tt.p, got, tt.want)
			}
		})
	}
}

func TestMAD(t *testing.T) {
	tests := []struct {
		x    []float64
		want float64 // scipy.stats.median_abs_deviation(x)
	}{
		{nil, 0},
		{[]float64{7}, 0},
		{[]float64{7, 7}, 0},
		{digits, 1.5},
		{[]float64{1, 2, 4, 8, 16}, 3},
		{[]float64{1, 1, 2, 2, 4, 6, 9}, 1},
	}
	for _, tt := range tests {
		if got := MAD(tt.x); got != tt.want {
			t.Errorf("MAD(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
}

// samples returns samples of many shapes: short, long, tied, sorted, reversed.
func samples(yield func([]int64) bool) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		for _, span := range []int64{2, 10, 1 << 40} {
			x := make([]int64, n)
			for i := range x {
				x[i] = r.Int64N(span) - span/4
			}
			if !yield(x) {
				return
			}
			slices.Sort(x)
			if !yield(slices.Clone(x)) {
				return
			}
			slices.Reverse(x)
			if !yield(x) {
				return
			}
		}
	}
}

func TestMedianAgreesWithQuantileAndMADWithDefinition(t *testing.T) {
	for x := range samples {
		sorted := slices.Sorted(slices.Values(x))
		med := Quantile(sorted, 0.5)
		if got := Median(x); got != med {
			t.Fatalf("Median(%v) = %v, want %v", x, got, med)
		}
		dev := make([]float64, len(x))
		for i, v := range x {
			dev[i] = math.Abs(float64(v) - med)
		}
		slices.Sort(dev)
		if got, want := MAD(x), Quantile(dev, 0.5); got != want {
			t.Fatalf("MAD(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestQuantileIsMonotone(t *testing.T) {
	for x := range samples {
		slices.Sort(x)
		last := math.Inf(-1)
		for p := 0.0; p <= 1; p += 1.0 / 64 {
			q := Quantile(x, p)
			if q < last {
				t.Fatalf("Quantile(%v, %v) = %v < %v", x, p, q, last)
			}
			if len(x) > 0 {
				last = q
			}
		}
	}
}

func TestInPlaceAllocatesNothing(t *testing.T) {
	x := make([]int64, 1000)
	for i := range x {
		x[i] = int64(i * 7919 % 1009)
	}
	n := testing.AllocsPerRun(10, func() {
		MedianInPlace(x)
		MADInPlace(x)
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

package metric

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMedianWithout compares the median with that of the values that remain.
func TestMedianWithout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		all := make([]int64, rng.IntN(20))
		for i := range all {
			all[i] = rng.Int64N(10)
		}
		n := 0
		if len(all) > 0 {
			n = rng.IntN(len(all) + 1)
		}
		drop, rest := slices.Clone(all[:n]), slices.Clone(all[n:])
		slices.Sort(all)
		if got, want := MedianWithout(all, drop), Median(rest); got != want {
			t.Fatalf("%v without %v: %v, want %v", all, drop, got, want)
		}
	}
}

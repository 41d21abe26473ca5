package judge

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// TestDeviations compares the sums over prefixes with their definition.
func TestDeviations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]int64, rng.IntN(40))
		for i := range values {
			values[i] = rng.Int64N(20) - 5
		}
		got := deviations(values)
		for n := range len(values) + 1 {
			want, mid := 0.0, metric.Median(values[:n])
			for _, v := range values[:n] {
				want += max(float64(v)-mid, mid-float64(v))
			}
			if got[n] != want {
				t.Fatalf("%v, first %d: %v, want %v", values, n, got[n], want)
			}
		}
	}
}

// TestStretchesScores holds the stretches to the definition of maximal scoring segments: within each, no proper
// beginning and no proper end has a sum of 0 or less.
func TestStretchesScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		yes := make([]bool, rng.IntN(60))
		for i := range yes {
			yes[i] = rng.IntN(5) < 2
		}
		covered := make([]bool, len(yes))
		for _, s := range stretches(yes, 1) {
			for _, part := range [][]bool{yes[s.first : s.last+1], reversed(yes[s.first : s.last+1])} {
				sum := 0
				for i, y := range part {
					if sum--; y {
						sum += 2
					}
					if sum <= 0 && i < len(part)-1 {
						t.Fatalf("%v: %v has a part with the sum %d", yes, s, sum)
					}
				}
			}
			for i := s.first; i <= s.last; i++ {
				covered[i] = true
			}
		}
		for i := range yes {
			if yes[i] && !covered[i] {
				t.Fatalf("%v: step %d is in no stretch", yes, i)
			}
		}
	}
}

func reversed(x []bool) []bool {
	x = slices.Clone(x)
	slices.Reverse(x)
	return x
}

package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// TestRatioInterval: the interval contains the true ratio of two medians as often as stated, with as few steps as a
// window has and equally skewed lengths.
func TestRatioInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	steps := func(n int, median float64) (out []int64) {
		for range n {
			out = append(out, int64(median*math.Exp(0.2*r.NormFloat64())))
		}
		slices.Sort(out)
		return out
	}
	for _, n := range []int{7, 10, 30} {
		held := 0
		const trials = 2000
		for range trials {
			others := steps(50, 2.5e6)
			p := trace.StepTime{}
			p.Low, p.High = metric.MedianInterval(others, medianLevel)
			if low, high := ratioInterval(steps(n, 5.5e6), &p); low <= 2.2 && 2.2 <= high {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.945 {
			t.Errorf("%d steps: the interval holds the ratio in %.3f of trials, want at least 0.945", n, share)
		}
	}
}

package judge

import "github.com/stepscope/stepscope/internal/base/metric"

// changePoint is the place that divides a series best into two levels, by the
// sum of absolute deviations from their medians; -1 if it is too short.
func changePoint(steps []int, value []int64) int {
	best, least := -1, 0.0
	for s := 2; s+stayingSteps <= len(steps); s++ {
		sum := deviation(pick(value, steps[:s])) + deviation(pick(value, steps[s:]))
		if best < 0 || sum < least {
			best, least = s, sum
		}
	}
	return best
}

func pick(value []int64, at []int) []int64 {
	out := make([]int64, len(at))
	for i, n := range at {
		out[i] = value[n]
	}
	return out
}

func deviation(x []int64) (sum float64) {
	mid := metric.Median(x)
	for _, v := range x {
		sum += max(float64(v)-mid, mid-float64(v))
	}
	return sum
}

package judge

import "github.com/stepscope/stepscope/internal/base/metric"

// stretch is a span of steps [first, last] in which something holds.
type stretch struct{ first, last int }

// stretches finds where a yes/no series is mostly yes: all maximal segments of +1 for yes and −1 for no (Ruzzo and
// Tompa, 1999). A stretch starts and ends with a yes and survives isolated gaps, and an isolated yes before it does not
// move its beginning. Segments with fewer than least more yes than no are left out.
func stretches(yes []bool, least int) []stretch {
	type segment struct {
		stretch
		left, right int // sums before the first and after the last step
	}
	var list []segment
	sum := 0
	for i, y := range yes {
		if !y {
			sum--
			continue
		}
		s := segment{stretch{i, i}, sum, sum + 1}
		sum++
		for {
			j := len(list) - 1
			for j >= 0 && list[j].left >= s.left {
				j--
			}
			if j < 0 || list[j].right >= s.right {
				list = append(list, s)
				break
			}
			// Join with segment j and all between, then check again.
			s = segment{stretch{list[j].first, s.last}, list[j].left, s.right}
			list = list[:j]
		}
	}
	var out []stretch
	for _, s := range list {
		if s.right-s.left >= least {
			out = append(out, s.stretch)
		}
	}
	return out
}

// changePoint returns the index that best divides a series into two levels, by the sum of absolute deviations from
// their medians; -1 if it is too short.
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

package judge

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// stretch is a range of steps, [first, last], in which a condition mostly holds.
type stretch struct{ first, last int }

// stretches finds the stretches in which a series is mostly true: the maximal scoring segments if true counts +1 and
// false −1 (Ruzzo and Tompa, 1999). A stretch starts and ends with a true value. It may contain isolated false values,
// and it does not include an isolated true value that precedes it. A stretch is left out unless the number of its true
// values exceeds the number of its false values by at least the argument least.
func stretches(yes []bool, least int) []stretch {
	type segment struct {
		stretch
		left, right int // sum of the series before the first step, and after the last step
		lower       int // index of the last segment before with a smaller left, or -1
	}
	var list []segment
	sum := 0
	for i, y := range yes {
		if !y {
			sum--
			continue
		}
		s := segment{stretch{i, i}, sum, sum + 1, -1}
		sum++
		for {
			j := len(list) - 1
			for j >= 0 && list[j].left >= s.left {
				j = list[j].lower
			}
			s.lower = j
			if j < 0 || list[j].right >= s.right {
				list = append(list, s)
				break
			}
			// Join s with segment j and all segments in between, then check again.
			s = segment{stretch{list[j].first, s.last}, list[j].left, s.right, -1}
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

// changePoint returns the index that best divides a series into two parts with different levels: the sum of absolute
// deviations from the median of each part is smallest. It returns -1 if the series is too short.
func changePoint(steps []int, value []int64) int {
	best, least := -1, 0.0
	series := pick(value, steps)
	before := deviations(series)
	slices.Reverse(series)
	after := deviations(series)
	for s := 2; s+stayingSteps <= len(steps); s++ {
		sum := before[s] + after[len(steps)-s]
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

// deviations returns, for each n, the sum of the absolute deviations of the first n values from their median.
func deviations(values []int64) []float64 {
	out := make([]float64, 1, len(values)+1)
	var low, high smallest // the lower half of the values so far, negated, and the upper half
	var below, above float64
	for _, v := range values {
		if len(low) > 0 && v < -low[0] {
			heap.Push(&low, -v)
			below += float64(v)
		} else {
			heap.Push(&high, v)
			above += float64(v)
		}
		switch {
		case len(high) > len(low)+1:
			v := heap.Pop(&high).(int64)
			heap.Push(&low, -v)
			below, above = below+float64(v), above-float64(v)
		case len(low) > len(high):
			v := -heap.Pop(&low).(int64)
			heap.Push(&high, v)
			below, above = below-float64(v), above+float64(v)
		}
		out = append(out, above-below-float64(len(high)-len(low))*float64(high[0]))
	}
	return out
}

// smallest is a heap with the smallest value at the front.
type smallest []int64

func (s smallest) Len() int           { return len(s) }
func (s smallest) Less(i, j int) bool { return s[i] < s[j] }
func (s smallest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *smallest) Push(v any)        { *s = append(*s, v.(int64)) }
func (s *smallest) Pop() any {
	v := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return v
}

// peakRatio is the minimum ratio of the cost of a peak to the cost of any other late step.
const peakRatio = 2

// regularPeaks returns the late steps that cost far more than all other late steps of the rank and recur regularly, or
// nil. Such steps have a cause of their own, even if the rank is late in other steps by nature.
func regularPeaks(yes []bool, split [][numCauses]int64, cause int) []int {
	var late []int
	for n := range yes {
		if yes[n] {
			late = append(late, n)
		}
	}
	sorts.By(late, func(x, y int) int { return cmp.Compare(split[y][cause], split[x][cause]) })
	for k := leastRecurring; k < len(late) && split[late[k-1]][cause] > 0; k++ {
		if split[late[k-1]][cause] < peakRatio*split[late[k]][cause] {
			continue
		}
		peaks := slices.Sorted(slices.Values(late[:k]))
		if period(peaks) > 0 {
			return peaks
		}
	}
	return nil
}

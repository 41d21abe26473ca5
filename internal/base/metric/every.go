package metric

import "slices"

// regular is how far from a multiple of the period a moment may come, as a share of it, and mostMissed how many
// periods may lie between two moments.
const (
	regular    = 0.1
	mostMissed = 5
)

// Every is the time from one of some rising moments to the next, if that is regular; 0: it is not, or
// there are fewer than three. Some moments in between may not have been seen.
func Every(at []int64) int64 {
	if len(at) < 3 {
		return 0
	}
	var apart []int64
	for k := range at[1:] {
		apart = append(apart, at[k+1]-at[k])
	}
	least := float64(slices.Min(apart))
	if least <= 0 {
		return 0
	}
	var each []float64
	for _, ns := range apart {
		times := float64(int64(float64(ns)/least + 0.5))
		if off := float64(ns) - times*least; max(off, -off) > regular*least || times > mostMissed {
			return 0
		}
		each = append(each, float64(ns)/times)
	}
	return int64(MedianInPlace(each))
}

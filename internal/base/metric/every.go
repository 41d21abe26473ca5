package metric

import "slices"

// regular is the largest distance of a moment from a multiple of the period, as a fraction of the period. mostMissed is
// the largest number of periods between two moments.
const (
	regular    = 0.1
	mostMissed = 5
)

// Every returns the period of ascending moments, or 0 if they are irregular or fewer than three. Some moments in
// between may be missing.
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

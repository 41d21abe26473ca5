package metric

import "slices"

// regular is the maximum deviation of the time between two moments from a multiple of the shortest such time, as a
// fraction of the shortest time. mostMissed is the maximum number of periods between two consecutive moments.
const (
	regular    = 0.1
	mostMissed = 5
)

// Every returns the period of a list of ascending moments. It returns 0 if the moments are irregular or fewer than
// three. Some moments in between may be missing.
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

package prep

import (
	"math"
	"testing"
)

// TestCorrelations: launches are found by their numbers, whether consecutive or as far apart as possible.
func TestCorrelations(t *testing.T) {
	for _, numbers := range [][]int64{
		nil, {7}, {5, 6, 9}, {-3, 2}, {1, 1 << 40}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64 - 1, math.MaxInt64},
	} {
		lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
		for _, n := range numbers {
			lo, hi = min(lo, n), max(hi, n)
		}
		c, want := newCorrelations(len(numbers), lo, hi), map[int64]int32{}
		for i, n := range numbers {
			c.set(n, int32(i))
			want[n] = int32(i)
		}
		for _, n := range append([]int64{0, 1, 4, 8, math.MinInt64, math.MaxInt64}, numbers...) {
			span, ok := c.of(n)
			if is, has := want[n]; ok != has || ok && span != is {
				t.Errorf("launches %v: number %d: got span %d, %v; want %d, %v", numbers, n, span, ok, is, has)
			}
		}
	}
}

package atonce

import (
	"slices"
	"testing"
)

// TestEach: each number comes once, and none is still at work when Each returns.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		times := make([]int, n)
		Each(n, func(i int) { times[i]++ })
		if want := slices.Repeat([]int{1}, n); !slices.Equal(times, want) {
			t.Errorf("of %d: %v", n, times)
		}
	}
}

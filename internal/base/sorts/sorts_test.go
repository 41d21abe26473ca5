package sorts

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSame: the results are those of package slices, elements that compare equal included.
func TestSame(t *testing.T) {
	type pair struct{ key, at int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{rng.IntN(n/3 + 1), i}
		}
		stable, sorted := slices.Clone(s), Sorted(slices.Values(s), byKey)
		By(s, byKey)
		if !slices.IsSortedFunc(s, byKey) || !slices.Equal(s, sorted) {
			t.Fatalf("%d elements: %v, %v", n, s, sorted)
		}
		want := slices.Clone(stable)
		slices.SortStableFunc(want, byKey)
		if Stable(stable, byKey); !slices.Equal(stable, want) {
			t.Fatalf("%d elements: %v, want %v", n, stable, want)
		}
	}
}

package runsort

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type item struct{ key, at int }

func byKey(a, b item) int { return cmp.Compare(a.key, b.key) }

// TestStable: the same order as the standard library's, for lists of any runs.
func TestStable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		for _, runs := range []int{1, 2, 3, 7, n + 1} {
			list := make([]item, n)
			for i := range list {
				list[i] = item{rnd.IntN(n/2 + 1), i}
			}
			for part := range slices.Chunk(list, max(1, (n+runs-1)/runs)) {
				slices.SortStableFunc(part, byKey)
			}
			want := slices.Clone(list)
			slices.SortStableFunc(want, byKey)
			Stable(list, func(a, b item) bool { return a.key < b.key })
			if !slices.Equal(list, want) {
				t.Fatalf("%d of %d runs: %v; want %v", n, runs, list, want)
			}
		}
	}
}

// BenchmarkStable sorts four runs.
func BenchmarkStable(b *testing.B) {
	list := make([]item, 100_000)
	for i := range list {
		list[i].key = i % (len(list) / 4) * 4
	}
	for _, c := range []struct {
		name string
		sort func([]item)
	}{
		{"ours", func(l []item) { Stable(l, func(a, b item) bool { return a.key < b.key }) }},
		{"slices", func(l []item) { slices.SortStableFunc(l, byKey) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.sort(slices.Clone(list))
			}
		})
	}
}

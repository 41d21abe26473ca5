package read

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/trace"
)

// TestSpanListSorted: spans of several pieces come out in stable order, without the unwanted ones.
func TestSpanListSorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, spanPiece, 3*spanPiece + 5} {
		var list spanList
		var want []trace.Span
		for i := range n {
			s := trace.Span{Start: rnd.Int64N(int64(n)), Dur: rnd.Int64N(3), Track: trace.TrackID(rnd.IntN(4)), Name: trace.StringID(i)}
			*list.add() = s
			if s.Name%7 != 0 {
				want = append(want, s)
			}
		}
		slices.SortStableFunc(want, func(a, b trace.Span) int {
			return cmp.Or(cmp.Compare(a.Track, b.Track), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur))
		})
		got := list.sorted(5, func(s *trace.Span) bool { return s.Name%7 != 0 })
		if !slices.Equal(got, want) || list.n != 0 {
			t.Fatalf("%d spans: not in order", n)
		}
	}
}

package timeslice

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

const us, ms = 1_000, 1_000_000

// rank runs two kernels in turn, a hundred times each; change returns the duration of the n-th, negative to omit it.
func rank(change func(n int, ns int64) int64) (out []Kernel) {
	at := int64(0)
	for n := range 200 {
		ns := []int64{20 * us, 70 * us}[n%2]
		if ns = change(n, ns); ns > 0 {
			out = append(out, Kernel{Key: int32(n % 2), Start: at, End: at + ns})
		}
		at += max(ns, 0) + 5*us
	}
	return out
}

func asTheyAre(_ int, ns int64) int64 { return ns }

func TestFind(t *testing.T) {
	turns := func(from, every int, ns int64) func(int, int64) int64 {
		return func(n int, usual int64) int64 {
			if n >= from && (n-from)%every == 0 {
				return ns
			}
			return usual
		}
	}
	for _, c := range []struct {
		what         string
		mine, others []Kernel
		kernels      int
		regular      bool
	}{
		{"equal", rank(asTheyAre), rank(asTheyAre), 0, false},
		{"delayed every 40 kernels", rank(turns(10, 40, 2500*us)), rank(asTheyAre), 5, true},
		{"delayed at irregular times", rank(func(n int, ns int64) int64 {
			if n == 7 || n == 31 || n == 44 || n == 170 {
				return 3 * ms
			}
			return ns
		}), rank(asTheyAre), 4, false},
		{"only two delays", rank(turns(10, 100, 2500*us)), rank(asTheyAre), 0, false},
		{"all kernels are slow", rank(func(_ int, ns int64) int64 { return 5 * ns }), rank(asTheyAre), 0, false},
		{"all kernels are slow, with long durations", rank(func(_ int, ns int64) int64 { return 50 * ns }), rank(asTheyAre), 0, false},
		{"one of the two always takes longer", rank(func(n int, ns int64) int64 { return []int64{ns, 1000 * us}[n%2] }), rank(asTheyAre), 0, false},
		{"one kernel of the two is delayed in half of its launches", rank(func(n int, ns int64) int64 {
			if n%4 == 1 {
				return 2500 * us
			}
			return ns
		}), rank(asTheyAre), 50, true},
		{"no other kernel to compare", rank(func(n int, ns int64) int64 { return []int64{-1, 1000 * us}[n%2] }), rank(asTheyAre), 0, false},
		{"all kernels are slow, a few delayed", rank(func(n int, ns int64) int64 { return turns(10, 40, 2500*us)(n, ns*3/2) }), rank(asTheyAre), 0, false},
		{"delays shorter than a time slice", rank(turns(10, 40, 150*us)), rank(asTheyAre), 0, false},
		{"the other ranks are delayed, too", rank(turns(10, 40, 2500*us)), rank(turns(3, 50, 2500*us)), 5, true},
		{"kernels that the other ranks do not run", rank(turns(10, 40, 2500*us)), rank(func(n int, ns int64) int64 { return -1 }), 0, false},
		{"no kernels", nil, nil, 0, false},
	} {
		h := Find(c.mine, c.others)
		if h == nil {
			h = &result.Held{}
		}
		if h.Kernels != c.kernels || (h.Every > 0) != c.regular || h.Kernels > 0 && (h.Rest < 0.99 || h.Rest > 1.01 || h.Share < 0.99 || h.Usual < 2500*us) {
			t.Errorf("%s: got %+v, want %d delayed kernels, regular: %v", c.what, *h, c.kernels, c.regular)
		}
	}
}

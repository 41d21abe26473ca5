package timeslice

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

const us, ms = 1_000, 1_000_000

// rank runs two kernels in turn, a hundred times each, and changes how long the n-th of them takes.
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
		{"alike", rank(asTheyAre), rank(asTheyAre), 0, false},
		{"held up every 40 kernels", rank(turns(10, 40, 2500*us)), rank(asTheyAre), 5, true},
		{"held up now and then", rank(func(n int, ns int64) int64 {
			if n == 7 || n == 31 || n == 44 || n == 170 {
				return 3 * ms
			}
			return ns
		}), rank(asTheyAre), 4, false},
		{"twice is too few", rank(turns(10, 100, 2500*us)), rank(asTheyAre), 0, false},
		{"all kernels are slow", rank(func(_ int, ns int64) int64 { return 5 * ns }), rank(asTheyAre), 0, false},
		{"all kernels are slow, and long", rank(func(_ int, ns int64) int64 { return 50 * ns }), rank(asTheyAre), 0, false},
		{"one of the two always takes longer", rank(func(n int, ns int64) int64 { return []int64{ns, 1000 * us}[n%2] }), rank(asTheyAre), 0, false},
		{"one kernel of the two loses its turn in half of its launches", rank(func(n int, ns int64) int64 {
			if n%4 == 1 {
				return 2500 * us
			}
			return ns
		}), rank(asTheyAre), 50, true},
		{"nothing else can be compared", rank(func(n int, ns int64) int64 { return []int64{-1, 1000 * us}[n%2] }), rank(asTheyAre), 0, false},
		{"all are slow, and a few are held up", rank(func(n int, ns int64) int64 { return turns(10, 40, 2500*us)(n, ns*3/2) }), rank(asTheyAre), 0, false},
		{"long, but short of a turn", rank(turns(10, 40, 150*us)), rank(asTheyAre), 0, false},
		{"the others are held up now and then, too", rank(turns(10, 40, 2500*us)), rank(turns(3, 50, 2500*us)), 5, true},
		{"kernels that the others do not run", rank(turns(10, 40, 2500*us)), rank(func(n int, ns int64) int64 { return -1 }), 0, false},
		{"nothing", nil, nil, 0, false},
	} {
		h := Find(c.mine, c.others)
		if h == nil {
			h = &result.Held{}
		}
		if h.Kernels != c.kernels || (h.Every > 0) != c.regular || h.Kernels > 0 && (h.Rest < 0.99 || h.Rest > 1.01 || h.Share < 0.99 || h.Usual < 2500*us) {
			t.Errorf("%s: %+v", c.what, *h)
		}
	}
}

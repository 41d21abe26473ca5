// Package pyrand draws random numbers as Python's random and numpy do, so that the same seed gives the same draws here.
//
// [Random] is Python's random.Random, [State] numpy's legacy RandomState (numpy.random.seed and the functions beside it),
// both on MT19937; [Generator] is numpy's default_rng. What they promise to keep from release to release is what is here:
// testdata/draws.json has what they drew.
package pyrand

import (
	"math"
	"math/bits"

	"github.com/stepscope/stepscope/internal/base/twister"
)

// Random is random.Random(seed).
type Random struct{ *twister.Twister }

// New seeds as random.seed does with a number that is not negative.
func New(seed uint64) Random { return Random{twister.Python(seed)} }

// Below is a number from 0 to below n, as randrange, choice and shuffle draw it; n is from 1 to 2^31.
func (r Random) Below(n int) int {
	k := bits.Len(uint(n))
	for {
		if x := int(r.Next() >> (32 - k)); x < n {
			return x
		}
	}
}

// Choose is a number from 0 to below n, as choices draws it without weights.
func (r Random) Choose(n int) int { return int(r.Float() * float64(n)) }

// Shuffle is shuffle of n elements.
func (r Random) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.Below(i+1))
	}
}

// Sample is sample of k from the numbers 0 to below n.
func (r Random) Sample(n, k int) []int {
	out := make([]int, k)
	setSize := 21 // of a small set without its list of n
	if k > 5 {
		setSize += 1 << (2 * int(math.Ceil(math.Log(float64(3*k))/math.Log(4))))
	}
	if n <= setSize {
		pool := make([]int, n)
		for i := range pool {
			pool[i] = i
		}
		for i := range out {
			j := r.Below(n - i)
			out[i], pool[j] = pool[j], pool[n-i-1]
		}
		return out
	}
	taken := make(map[int]bool, k)
	for i := range out {
		j := r.Below(n)
		for taken[j] {
			j = r.Below(n)
		}
		taken[j], out[i] = true, j
	}
	return out
}

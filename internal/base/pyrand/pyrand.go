// Package pyrand draws the same random numbers as Python's random and numpy for the same seed.
//
// [Random] is Python's random.Random and [State] is numpy's legacy RandomState (numpy.random.seed and its functions),
// both on MT19937. [Generator] is numpy's default_rng. The package has only functions whose results Python and numpy
// guarantee to keep across releases. testdata/draws.json holds numbers drawn by Python and numpy.
package pyrand

import (
	"math"
	"math/bits"

	"github.com/stepscope/stepscope/internal/base/twister"
)

// Random is random.Random(seed).
type Random struct{ *twister.Twister }

// New returns a Random seeded in the same way as by random.seed with a non-negative number.
func New(seed uint64) Random { return Random{twister.Python(seed)} }

// Below returns a number in [0, n), drawn in the way of randrange, choice and shuffle. n is from 1 to 2^31.
func (r Random) Below(n int) int {
	k := bits.Len(uint(n))
	for {
		if x := int(r.Next() >> (32 - k)); x < n {
			return x
		}
	}
}

// Choose returns a number in [0, n), drawn in the way of choices without weights.
func (r Random) Choose(n int) int { return int(r.Float() * float64(n)) }

// Shuffle is random.shuffle of n elements.
func (r Random) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.Below(i+1))
	}
}

// Sample is random.sample of k numbers from [0, n).
func (r Random) Sample(n, k int) []int {
	out := make([]int, k)
	setSize := 21 // estimated size of a set of k elements; a list of n is used if it is smaller
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

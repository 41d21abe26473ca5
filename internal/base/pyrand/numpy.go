package pyrand

import (
	"math"
	"math/bits"
	"sort"

	"github.com/stepscope/stepscope/internal/base/twister"
)

// State is numpy.random.RandomState(seed). Its method Float is numpy's random_sample.
type State struct {
	*twister.Twister
	second float64 // second number of the last pair, because normal numbers are generated in pairs
	has    bool
}

// NewState returns a State seeded in the same way as by numpy.random.seed(seed).
func NewState(seed uint32) *State { return &State{Twister: twister.New(seed)} }

// Int is randint: it returns an integer in [low, high). high − low must be less than 2^32.
func (s *State) Int(low, high int) int {
	span := uint32(high - 1 - low)
	if span == 0 {
		return low
	}
	mask := uint32(1)<<bits.Len32(span) - 1
	for {
		if x := s.Next() & mask; x <= span {
			return low + int(x)
		}
	}
}

// Exponential is standard_exponential.
func (s *State) Exponential() float64 { return -math.Log(1 - s.Float()) }

// normal is standard_normal. It uses Marsaglia's polar method, as numpy does.
func (s *State) normal() float64 {
	if s.has {
		s.has = false
		return s.second
	}
	for {
		x, y := 2*s.Float()-1, 2*s.Float()-1
		if r := x*x + y*y; r > 0 && r < 1 {
			f := math.Sqrt(-2 * math.Log(r) / r)
			s.second, s.has = f*x, true
			return f * y
		}
	}
}

// Gamma is standard_gamma.
func (s *State) Gamma(shape float64) float64 {
	switch {
	case shape == 1:
		return s.Exponential()
	case shape == 0:
		return 0
	case shape < 1:
		for {
			u, v := s.Float(), s.Exponential()
			if u <= 1-shape {
				if x := math.Pow(u, 1/shape); x <= v {
					return x
				}
				continue
			}
			y := -math.Log((1 - u) / shape)
			if x := math.Pow(1-shape+shape*y, 1/shape); x <= v+y {
				return x
			}
		}
	}
	b := shape - 1./3
	c := 1 / math.Sqrt(9*b)
	for {
		x := s.normal()
		v := 1 + c*x
		for v <= 0 {
			x = s.normal()
			v = 1 + c*x
		}
		v *= v * v
		if u := s.Float(); u < 1-0.0331*x*x*x*x || math.Log(u) < 0.5*x*x+b*(1-v+math.Log(v)) {
			return b * v
		}
	}
}

// Weights is the distribution given to numpy's choice as the argument p.
type Weights []float64 // cumulative probabilities

// NewWeights normalizes n weights to probabilities.
func NewWeights(n int, weight func(i int) float64) Weights {
	w, total, sum := make(Weights, n), 0.0, 0.0
	for i := range w {
		w[i] = weight(i)
		total += w[i]
	}
	for i := range w {
		sum += w[i] / total
		w[i] = sum
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// At returns the index that numpy's choice picks for the random number x in [0, 1).
func (w Weights) At(x float64) int {
	return sort.Search(len(w), func(i int) bool { return w[i] > x })
}

// Generator is numpy.random.default_rng(seed): PCG64, which is PCG XSL RR 128/64.
type Generator struct{ state, inc u128 }

type u128 struct{ hi, lo uint64 }

func (a u128) plus(b u128) u128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return u128{hi, lo}
}

func (a u128) times(b u128) u128 {
	hi, lo := bits.Mul64(a.lo, b.lo)
	return u128{hi + a.hi*b.lo + a.lo*b.hi, lo}
}

var pcgMultiplier = u128{0x2360ed051fc65da4, 0x4385df649fccf645}

// NewGenerator returns a Generator seeded with numpy's SeedSequence(seed).
func NewGenerator(seed uint32) *Generator {
	words := seedSequence(seed)
	inc := u128{words[2], words[3]}
	g := &Generator{inc: u128{inc.hi<<1 | inc.lo>>63, inc.lo<<1 | 1}}
	g.step()
	g.state = g.state.plus(u128{words[0], words[1]})
	g.step()
	return g
}

func (g *Generator) step() { g.state = g.state.times(pcgMultiplier).plus(g.inc) }

// Float is random(): a number in [0, 1).
func (g *Generator) Float() float64 {
	g.step()
	x := bits.RotateLeft64(g.state.hi^g.state.lo, -int(g.state.hi>>58))
	return float64(x>>11) / (1 << 53)
}

// seedSequence expands a seed to the four words that PCG64 needs, as numpy's SeedSequence does.
func seedSequence(seed uint32) (words [4]uint64) {
	const mixL, mixR = 0xca01f9dd, 0x4973f715
	hash := uint32(0x43b0d7e5)
	mixed := func(x uint32) uint32 {
		x ^= hash
		hash *= 0x931e8875
		x *= hash
		return x ^ x>>16
	}
	pool := [4]uint32{seed}
	for i := range pool {
		pool[i] = mixed(pool[i])
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				x := mixL*pool[to] - mixR*mixed(pool[from])
				pool[to] = x ^ x>>16
			}
		}
	}
	hash = 0x8b51f9dd
	for i := range 8 {
		x := pool[i%4] ^ hash
		hash *= 0x58f38ded
		x *= hash
		x ^= x >> 16
		words[i/2] |= uint64(x) << (32 * (i % 2))
	}
	return words
}

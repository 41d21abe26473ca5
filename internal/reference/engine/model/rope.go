package model

import (
	"fmt"
	"math"
)

// RopeType names a method of scaling rotary frequencies for contexts that are longer than the contexts used in
// training.
type RopeType string

// Supported types, by their names in Hugging Face's rope_type.
const (
	RopeDefault RopeType = "default"
	RopeLinear  RopeType = "linear"
	RopeLlama3  RopeType = "llama3"
	RopeYaRN    RopeType = "yarn"
)

// Rope is a rotary position embedding (Su et al., arXiv:2104.09864): element pair i of a head is rotated by
// position·theta^(-2i/head_dim). Type selects a scaling of these angles. The formulas are those of transformers'
// modeling_rope_utils.py.
type Rope struct {
	Type     RopeType
	Theta    float64
	Factor   float64 // linear, llama3, yarn; 0 otherwise
	Original int     // llama3, yarn: context length before scaling

	LowFreq, HighFreq float64 // llama3

	BetaFast, BetaSlow float64 // yarn
	Attention          float64 // yarn: factor of cos and sin; 0: derived from the other fields
	MScale, MScaleAll  float64 // yarn; 0: unset
	NoTruncate         bool    // yarn: do not round the ends of the ramp to whole pairs
}

func (r *Rope) check() error {
	positive := func(name string, v float64) error {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%s of rope %s is %g; want a positive number", name, r.Type, v)
		}
		return nil
	}
	if err := positive("rope_theta", r.Theta); err != nil {
		return err
	}
	if r.Type == RopeDefault {
		return nil
	}
	if err := positive("factor", r.Factor); err != nil {
		return err
	}
	if r.Type == RopeLinear {
		return nil
	}
	if r.Original < 1 {
		return fmt.Errorf("original_max_position_embeddings of rope %s is %d; want a positive number", r.Type, r.Original)
	}
	switch {
	case r.Type == RopeLlama3 && !(r.HighFreq > r.LowFreq && r.LowFreq > 0):
		return fmt.Errorf("low_freq_factor %g and high_freq_factor %g of rope llama3: want 0 < low < high", r.LowFreq, r.HighFreq)
	case r.Type == RopeYaRN && !(r.BetaFast >= r.BetaSlow && r.BetaSlow > 0):
		return fmt.Errorf("beta_slow %g and beta_fast %g of rope yarn: want 0 < slow ≤ fast", r.BetaSlow, r.BetaFast)
	}
	return nil
}

// frequencies returns the angle per position of each of the dim/2 pairs of a head, and the factor of cos and sin.
func (r *Rope) frequencies(dim int) (inv []float64, scale float64) {
	inv, scale = make([]float64, dim/2), 1
	for i := range inv {
		inv[i] = 1 / math.Pow(r.Theta, float64(2*i)/float64(dim))
	}
	switch r.Type {
	case RopeLinear:
		for i := range inv {
			inv[i] /= r.Factor
		}
	case RopeLlama3:
		r.llama3(inv)
	case RopeYaRN:
		scale = r.yarn(inv, dim)
	}
	return inv, scale
}

// llama3 divides low frequencies by the factor and keeps high frequencies. For frequencies between the two ranges,
// llama3 interpolates.
func (r *Rope) llama3(inv []float64) {
	old := float64(r.Original)
	for i, f := range inv {
		switch wave := 2 * math.Pi / f; {
		case wave < old/r.HighFreq:
		case wave > old/r.LowFreq:
			inv[i] = f / r.Factor
		default:
			smooth := (old/wave - r.LowFreq) / (r.HighFreq - r.LowFreq)
			inv[i] = (1-smooth)*f/r.Factor + smooth*f
		}
	}
}

// yarn blends the original frequencies with the divided frequencies, according to a ramp over the pairs (Peng et al.,
// arXiv:2309.00071). It returns the factor of cos and sin.
func (r *Rope) yarn(inv []float64, dim int) float64 {
	// pair returns the index of the pair that makes the given number of turns in the original context.
	pair := func(turns float64) float64 {
		return float64(dim) * math.Log(float64(r.Original)/(turns*2*math.Pi)) / (2 * math.Log(r.Theta))
	}
	low, high := pair(r.BetaFast), pair(r.BetaSlow)
	if !r.NoTruncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(dim-1))
	if low == high {
		high += 0.001
	}
	for i, f := range inv {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		inv[i] = f/r.Factor*ramp + f*(1-ramp)
	}
	if r.Attention != 0 {
		return r.Attention
	}
	mscale := func(m float64) float64 {
		if r.Factor <= 1 {
			return 1
		}
		return 0.1*m*math.Log(r.Factor) + 1
	}
	if r.MScale != 0 && r.MScaleAll != 0 {
		return mscale(r.MScale) / mscale(r.MScaleAll)
	}
	return mscale(1)
}

// ropeTable holds cos and sin of every position, [positions][half] each.
type ropeTable struct {
	half     int
	cos, sin []float32
}

// table computes the rotations of the first n positions of heads of dim elements. Frequencies and angles are rounded to
// float32 before the cosine is taken, as in transformers. At position 100 000 the effect of this rounding is visible.
func (r *Rope) table(dim, n int) *ropeTable {
	inv, scale := r.frequencies(dim)
	t := &ropeTable{half: dim / 2, cos: make([]float32, n*dim/2), sin: make([]float32, n*dim/2)}
	for p := range n {
		for i, f := range inv {
			sin, cos := math.Sincos(float64(float32(p) * float32(f)))
			t.cos[p*t.half+i] = float32(cos * scale)
			t.sin[p*t.half+i] = float32(sin * scale)
		}
	}
	return t
}

// at returns cos and sin of position p.
func (t *ropeTable) at(p int) (cos, sin []float32) {
	return t.cos[p*t.half:][:t.half], t.sin[p*t.half:][:t.half]
}

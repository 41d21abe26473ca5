package sample

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
)

// draw picks a token according to the probabilities s.p and the random number u in [0, 1): the token at which the
// cumulative probability exceeds u. most is the largest probability.
func (s *Sampler) draw(p *api.Sampling, u float64, most float32) int32 {
	if p.TopK == 0 && topP(p) >= 1 && p.MinP == 0 {
		return pick(s.p, u)
	}
	return s.drawCut(p, u, most)
}

// pick draws a token like draw, without any cut. It scans the vocabulary in order.
func pick(probs []float32, u float64) int32 {
	var sum float64
	for _, v := range probs {
		sum += float64(v)
	}
	target := u * sum
	var at float64
	last := 0
	for i, v := range probs {
		if v == 0 {
			continue
		}
		last = i
		if at += float64(v); at > target {
			break
		}
	}
	return int32(last)
}

// drawCut finds the position at which top-k, top-p or min-p cuts the list of tokens, which is ordered from the most
// probable token down. It then picks one of the tokens before the cut. Sorting all tokens would take most of the time.
// Instead, drawCut counts the tokens in buckets of nearly equal probability, and sorts only the bucket that contains
// the cut.
func (s *Sampler) drawCut(p *api.Sampling, u float64, most float32) int32 {
	least := float32(p.MinP) * most
	for i := range s.buckets {
		s.buckets[i] = bucket{}
	}
	for _, v := range s.p {
		if v >= least && v > 0 {
			b := &s.buckets[bucketOf(v)]
			b.n++
			b.mass += float64(v)
		}
	}
	lowest, last, sum := s.cut(p, least)
	target, at := u*sum, 0.0
	var token int32
	for i, v := range s.p {
		if v > lowest || (v == lowest && int32(i) <= last) {
			token = int32(i)
			if at += float64(v); at > target {
				break
			}
		}
	}
	return token
}

// cut returns the tokens before the cut and the sum of their probabilities. The tokens before the cut are those whose
// probability is above lowest and those whose probability equals lowest and whose id is at most last.
func (s *Sampler) cut(p *api.Sampling, least float32) (lowest float32, last int32, sum float64) {
	most, rank := topP(p), 0
	for i := len(s.buckets) - 1; i >= 0; i-- {
		b := s.buckets[i]
		if b.n == 0 {
			continue
		}
		whole := (p.TopK == 0 || rank+b.n <= p.TopK) && sum+b.mass <= most
		if whole {
			rank += b.n
			sum += b.mass
			lowest, last = max(least, math.Float32frombits(uint32(i)<<bucketShift)), math.MaxInt32
			continue
		}
		s.order = s.order[:0]
		for token, v := range s.p {
			if v >= least && v > 0 && bucketOf(v) == i {
				s.order = append(s.order, int32(token))
			}
		}
		slices.SortFunc(s.order, func(a, b int32) int {
			if s.p[a] != s.p[b] {
				return cmp.Compare(s.p[b], s.p[a])
			}
			return cmp.Compare(a, b)
		})
		for _, token := range s.order {
			if (p.TopK > 0 && rank >= p.TopK) || sum > most {
				return lowest, last, sum
			}
			lowest, last = s.p[token], token
			rank++
			sum += float64(lowest)
		}
	}
	return lowest, last, sum
}

// bucket counts tokens of nearly equal probability.
type bucket struct {
	n    int
	mass float64
}

// bucketShift is the shift that turns the bits of a probability into the number of its bucket. The number consists of
// the exponent and the first 5 bits of the fraction, so there are 32 buckets per factor of two.
const bucketShift = 23 - 5

func bucketOf(p float32) int { return int(math.Float32bits(p) >> bucketShift) }

// numBuckets is the number of buckets for probabilities up to 2, so probabilities that exceed 1 by a rounding error are
// harmless.
const numBuckets = 0x40000000 >> bucketShift

// top returns the n largest values of x, largest first. norm is subtracted from each value.
func top(x []float32, norm float32, n int) []api.Logprob {
	n = min(n, len(x))
	if n == 0 {
		return nil
	}
	out := make([]api.Logprob, 0, n)
	for i, v := range x {
		if len(out) == n {
			if float64(v) <= out[n-1].Logprob {
				continue
			}
			out = out[:n-1]
		}
		at, _ := slices.BinarySearchFunc(out, v, func(l api.Logprob, v float32) int {
			if l.Logprob >= float64(v) {
				return -1
			}
			return 1
		})
		out = slices.Insert(out, at, api.Logprob{ID: int32(i), Logprob: float64(v)})
	}
	for i := range out {
		out[i].Logprob = float64(float32(out[i].Logprob) - norm)
	}
	return out
}

// uniform returns the n-th random number of a seed, in [0, 1). The number is a hash of seed and n, so that no generator
// state has to be kept or replayed. The hash function is splitmix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014). Its counter starts at the hash of the seed.
func uniform(seed uint64, n int) float64 {
	z := mix(mix(seed+gamma) + uint64(n+1)*gamma)
	return float64(z>>11) / (1 << 53)
}

const gamma = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

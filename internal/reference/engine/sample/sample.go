// Package sample chooses the next token of a sequence from its logits, like SGLang's sampler.
//
// A [Sampler] has the scratch memory for one vocabulary and serves all sequences of a scheduler in turn. A [State]
// belongs to one sequence and has the sequence's parameters, generated tokens and random numbers. The random numbers
// depend only on the seed and on the token's position in the output. Therefore a sequence gets the same tokens in any
// batch, even after an interruption.
//
// The order of operations is SGLang's (python/sglang/srt/layers/sampler.py and srt/sampling/penaltylib): penalties,
// logit bias, temperature, and then top-k, top-p and min-p. The last three apply to the sorted probabilities. Each of
// the three is evaluated on the distribution as it is before any cut ("joint" order). Log probabilities are natural
// logarithms of the probabilities after penalties and temperature and before the cuts.
package sample

import (
	"cmp"
	"errors"
	"math"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

func repetition(p *api.Sampling) float64 { return cmp.Or(p.RepetitionPenalty, 1) }

func topP(p *api.Sampling) float64 { return cmp.Or(p.TopP, 1) }

// State is the sampling state of one sequence.
type State struct {
	p      api.Sampling
	seed   uint64
	n      int             // tokens generated
	counts map[int32]int32 // number of times each token was generated; nil if no penalty needs the counts
}

// NewState returns the state of a sequence that has no generated tokens.
func NewState(p api.Sampling) *State {
	st := &State{p: p}
	if p.Seed != nil {
		st.seed = uint64(*p.Seed)
	}
	if p.FrequencyPenalty != 0 || p.PresencePenalty != 0 || repetition(&p) != 1 {
		st.counts = map[int32]int32{}
	}
	return st
}

// Accept records that token became part of the output.
func (st *State) Accept(token int32) {
	st.n++
	if st.counts != nil {
		st.counts[token]++
	}
}

// Want selects the information that a Choice contains in addition to the token.
type Want struct {
	Logprob bool
	Top     int // number of most probable tokens to return
}

// Choice is a token and the requested information about it.
type Choice struct {
	api.Logprob
	Top []api.Logprob // most probable first
}

// ErrNotFinite means that the logits do not form a distribution.
var ErrNotFinite = errors.New("the model's logits are not finite")

// Sampler chooses tokens. It is not safe for concurrent use.
type Sampler struct {
	x       []float32 // logits after penalties, bias and temperature
	p       []float32 // probabilities of the tokens
	order   []int32   // the sorted tokens of one bucket
	buckets [numBuckets]bucket
}

// Choose picks the next token of the sequence. It does not modify the logits. The state changes only when the caller
// accepts the token.
func (s *Sampler) Choose(st *State, logits []float32, want Want) (Choice, error) {
	greedy := st.p.Temperature == 0
	x := s.adjust(st, logits)
	if greedy && !want.Logprob && want.Top == 0 {
		best := tensor.MaxIdx(x)
		if best < 0 || !finite(x[best]) {
			return Choice{}, ErrNotFinite
		}
		return Choice{Logprob: api.Logprob{ID: int32(best)}}, nil
	}
	if !greedy && st.p.Temperature != 1 {
		x = s.own(x)
		// The factor must not be 0, because 0 would turn a logit of minus infinity into NaN.
		tensor.Scale(x, max(float32(1/st.p.Temperature), 1e-30))
	}
	best := tensor.MaxIdx(x)
	if best < 0 || !finite(x[best]) {
		return Choice{}, ErrNotFinite
	}
	s.p = append(s.p[:0], x...)
	tensor.Softmax(s.p)
	if !(s.p[best] > 0) {
		return Choice{}, ErrNotFinite // the logits contain a NaN
	}
	c := Choice{Logprob: api.Logprob{ID: int32(best)}}
	if !greedy {
		c.ID = s.draw(&st.p, uniform(st.seed, st.n), s.p[best])
	}
	// Compute log Σ exp(x) from the largest logit, because the probability of that token is the most exact.
	norm := x[best] - float32(math.Log(float64(s.p[best])))
	if want.Logprob {
		c.Logprob.Logprob = float64(x[c.ID] - norm)
	}
	c.Top = top(x, norm, want.Top)
	return c, nil
}

// Score returns the log probability of a given token and the n most probable tokens. Both are computed from the
// unmodified logits.
func (s *Sampler) Score(logits []float32, token int32, n int) (float64, []api.Logprob) {
	if cap(s.p) < len(logits) {
		s.p = make([]float32, len(logits))
	}
	norm := tensor.LogSumExp(logits, s.p[:len(logits)])
	return float64(logits[token] - norm), top(logits, norm, n)
}

// adjust returns the logits with penalties and bias. Without penalties and bias it returns the slice logits; otherwise
// it returns the sampler's memory.
func (s *Sampler) adjust(st *State, logits []float32) []float32 {
	x := logits
	if len(st.counts) > 0 {
		x = s.own(x)
		rep := float32(repetition(&st.p))
		for token, n := range st.counts {
			v := x[token] - float32(st.p.FrequencyPenalty)*float32(n) - float32(st.p.PresencePenalty)
			if v > 0 {
				v /= rep
			} else {
				v *= rep
			}
			x[token] = v
		}
	}
	if st.n < st.p.MinNewTokens {
		x = s.own(x)
		for _, token := range st.p.StopTokens {
			if int(token) < len(x) {
				x[token] = float32(math.Inf(-1))
			}
		}
	}
	if len(st.p.LogitBias) > 0 {
		x = s.own(x)
		for token, b := range st.p.LogitBias {
			if int(token) < len(x) {
				x[token] += b
			}
		}
	}
	return x
}

// own copies x into the sampler's memory, unless x is already in that memory.
func (s *Sampler) own(x []float32) []float32 {
	if len(s.x) == len(x) && &s.x[0] == &x[0] {
		return x
	}
	s.x = append(s.x[:0], x...)
	return s.x
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

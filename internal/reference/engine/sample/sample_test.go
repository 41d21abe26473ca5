package sample

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
)

// logits of a small vocabulary with ties and a long tail.
func logits(n int) []float32 {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Round(rng.NormFloat64()*20) / 10)
	}
	return x
}

// softmax in float64, with a temperature.
func softmax(x []float32, temperature float64) []float64 {
	most := float64(slices.Max(x)) / temperature
	p := make([]float64, len(x))
	sum := 0.0
	for i, v := range x {
		p[i] = math.Exp(float64(v)/temperature - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// reference is the exact distribution that a token is drawn from, computed by sorting everything (SGLang's
// top_k_top_p_min_p_sampling_from_probs_torch).
func reference(x []float32, p api.Sampling) []float64 {
	probs := softmax(x, p.Temperature)
	order := make([]int, len(probs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case probs[a] > probs[b]:
			return -1
		case probs[a] < probs[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(probs))
	cum, kept := 0.0, 0.0
	for rank, i := range order {
		if (p.TopK == 0 || rank < p.TopK) && cum <= topP(&p) && probs[i] >= probs[order[0]]*p.MinP {
			out[i] = probs[i]
			kept += probs[i]
		}
		cum += probs[i]
	}
	for i := range out {
		out[i] /= kept
	}
	return out
}

// TestDistributions draws many tokens and compares their frequencies with the exact distribution by Pearson's
// chi-square. Seeds are fixed, so the outcome is too; the bound is the 1 - 1e-4 quantile (Wilson and Hilferty).
func TestDistributions(t *testing.T) {
	tests := []struct {
		name string
		p    api.Sampling
	}{
		{"plain", api.Sampling{Temperature: 1}},
		{"hot", api.Sampling{Temperature: 2.5}},
		{"cold", api.Sampling{Temperature: 0.3}},
		{"top-k", api.Sampling{Temperature: 1, TopK: 5}},
		{"top-k of one", api.Sampling{Temperature: 1, TopK: 1}},
		{"top-p", api.Sampling{Temperature: 1, TopP: 0.7}},
		{"small top-p", api.Sampling{Temperature: 1, TopP: 0.01}},
		{"min-p", api.Sampling{Temperature: 1, MinP: 0.2}},
		{"all", api.Sampling{Temperature: 1.3, TopK: 20, TopP: 0.85, MinP: 0.05}},
		{"top-k beyond the vocabulary", api.Sampling{Temperature: 1, TopK: 1000}},
	}
	x := logits(50)
	const draws = 8000
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := reference(x, tt.p)
			for way, state := range map[string]func(i int) *State{
				"by position": func(i int) *State { st := NewState(tt.p); st.n = i; return st },
				"by seed":     func(i int) *State { p := tt.p; p.Seed = seed(int64(i)); return NewState(p) },
			} {
				var s Sampler
				counts := make([]int, len(x))
				for i := range draws {
					c, err := s.Choose(state(i), x, Want{})
					if err != nil {
						t.Fatal(err)
					}
					counts[c.ID]++
				}
				chi, cells := 0.0, -1.0
				for i, p := range want {
					if p == 0 {
						if counts[i] > 0 {
							t.Fatalf("%s: token %d was cut off but was drawn %d times", way, i, counts[i])
						}
						continue
					}
					d := float64(counts[i]) - p*draws
					chi += d * d / (p * draws)
					cells++
				}
				k := max(cells, 1)
				bound := k * math.Pow(1-2/(9*k)+3.719*math.Sqrt(2/(9*k)), 3)
				if chi > bound {
					t.Errorf("%s: chi-square %.1f over %.0f cells, above %.1f", way, chi, cells, bound)
				}
			}
		})
	}
}

func TestGreedy(t *testing.T) {
	x := []float32{0, 3, -1, 3, 2}
	var s Sampler
	c, err := s.Choose(NewState(api.Sampling{}), x, Want{})
	if err != nil || c.ID != 1 {
		t.Errorf("chose %d, %v; want the first of the largest", c.ID, err)
	}
}

func TestLogitsAreLeftAlone(t *testing.T) {
	x := logits(300)
	before := slices.Clone(x)
	st := NewState(api.Sampling{
		Temperature: 0.7, TopP: 0.9, FrequencyPenalty: 1, PresencePenalty: 1, RepetitionPenalty: 1.5,
		LogitBias: map[int32]float32{3: 5}, MinNewTokens: 10, StopTokens: []int32{4},
	})
	var s Sampler
	for range 5 {
		c, err := s.Choose(st, x, Want{Logprob: true, Top: 3})
		if err != nil {
			t.Fatal(err)
		}
		st.Accept(c.ID)
	}
	if !slices.Equal(x, before) {
		t.Error("the model's logits were changed")
	}
}

func TestAdjust(t *testing.T) {
	inf := float32(math.Inf(-1))
	tests := []struct {
		name     string
		p        api.Sampling
		accepted []int32
		want     []float32
	}{
		{"nothing", api.Sampling{}, []int32{1}, []float32{4, 2, -2, 0}},
		{"frequency", api.Sampling{FrequencyPenalty: 0.5}, []int32{0, 0, 2}, []float32{3, 2, -2.5, 0}},
		{"presence", api.Sampling{PresencePenalty: 0.5}, []int32{0, 0, 2}, []float32{3.5, 2, -2.5, 0}},
		{"repetition", api.Sampling{RepetitionPenalty: 2}, []int32{0, 2, 2}, []float32{2, 2, -4, 0}},
		{"all penalties", api.Sampling{FrequencyPenalty: 1, PresencePenalty: -1, RepetitionPenalty: 2}, []int32{0, 0}, []float32{1.5, 2, -2, 0}},
		{"bias", api.Sampling{LogitBias: map[int32]float32{3: 7, 0: -1, 99: 1}}, nil, []float32{3, 2, -2, 7}},
		{"too early to end", api.Sampling{MinNewTokens: 2, StopTokens: []int32{0, 3, 99}}, []int32{1}, []float32{inf, 2, -2, inf}},
		{"may end", api.Sampling{MinNewTokens: 2, StopTokens: []int32{0, 3}}, []int32{1, 1}, []float32{4, 2, -2, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := NewState(tt.p)
			for _, a := range tt.accepted {
				st.Accept(a)
			}
			var s Sampler
			if got := s.adjust(st, []float32{4, 2, -2, 0}); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLogprobs(t *testing.T) {
	x := logits(200)
	for _, temperature := range []float64{0, 1, 0.5} {
		// Greedy choices are scored at temperature 1. Cuts do not change scores.
		p := api.Sampling{Temperature: temperature, TopK: 3, Seed: seed(5)}
		exact := softmax(x, map[bool]float64{true: 1, false: temperature}[temperature == 0])
		var s Sampler
		c, err := s.Choose(NewState(p), x, Want{Logprob: true, Top: 7})
		if err != nil {
			t.Fatal(err)
		}
		near := func(l api.Logprob) {
			t.Helper()
			if want := math.Log(exact[l.ID]); math.Abs(float64(l.Logprob)-want) > 2e-5 {
				t.Errorf("temperature %v: token %d has %v, want %v", temperature, l.ID, l.Logprob, want)
			}
		}
		near(c.Logprob)
		sorted := slices.Clone(exact)
		slices.Sort(sorted)
		slices.Reverse(sorted)
		if len(c.Top) != 7 {
			t.Fatalf("%d top tokens, want 7", len(c.Top))
		}
		for i, l := range c.Top {
			near(l)
			if exact[l.ID] != sorted[i] {
				t.Errorf("temperature %v: place %d of the top has token %d", temperature, i, l.ID)
			}
			if i > 0 && l.Logprob == c.Top[i-1].Logprob && l.ID < c.Top[i-1].ID {
				t.Errorf("equal tokens %d and %d are not in order", c.Top[i-1].ID, l.ID)
			}
		}
	}
}

func TestScore(t *testing.T) {
	x := logits(64)
	var s Sampler
	exact := softmax(x, 1)
	got, best := s.Score(x, 17, 2)
	if math.Abs(float64(got)-math.Log(exact[17])) > 2e-5 {
		t.Errorf("token 17 has %v, want %v", got, math.Log(exact[17]))
	}
	if want := slices.Max(exact); len(best) != 2 || exact[best[0].ID] != want {
		t.Errorf("best %v", best)
	}
	if _, none := s.Score(x, 0, 0); none != nil {
		t.Errorf("top of none is %v", none)
	}
}

func TestSameSeedSameTokens(t *testing.T) {
	x := logits(1000)
	p := api.Sampling{Temperature: 1, TopP: 0.95, Seed: seed(42), FrequencyPenalty: 0.3}
	run := func(s *Sampler, disturb bool) (out []int32) {
		st, other := NewState(p), NewState(api.Sampling{Temperature: 2, Seed: seed(1)})
		for range 50 {
			if disturb {
				if _, err := s.Choose(other, x[:700], Want{Top: 3}); err != nil {
					t.Fatal(err)
				}
			}
			c, err := s.Choose(st, x, Want{})
			if err != nil {
				t.Fatal(err)
			}
			st.Accept(c.ID)
			out = append(out, c.ID)
		}
		return out
	}
	alone := run(&Sampler{}, false)
	if beside := run(&Sampler{}, true); !slices.Equal(alone, beside) {
		t.Errorf("another sequence in the batch changed the tokens:\n%v\n%v", alone, beside)
	}
	p.Seed = seed(43)
	if other := run(&Sampler{}, false); slices.Equal(alone, other) {
		t.Error("two seeds gave the same tokens")
	}
}

func TestNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, x := range [][]float32{{nan, nan}, {-inf, -inf}, {0, inf}, {}} {
		for _, temperature := range []float64{0, 1} {
			var s Sampler
			if _, err := s.Choose(NewState(api.Sampling{Temperature: temperature}), x, Want{}); !errors.Is(err, ErrNotFinite) {
				t.Errorf("%v at temperature %v: %v", x, temperature, err)
			}
		}
	}
}

func TestNoAllocationPerToken(t *testing.T) {
	x := logits(5000)
	for name, p := range map[string]api.Sampling{
		"greedy":    {},
		"plain":     {Temperature: 0.8},
		"cut":       {Temperature: 0.8, TopP: 0.9, TopK: 40},
		"penalties": {Temperature: 0.8, FrequencyPenalty: 0.1, LogitBias: map[int32]float32{1: 1}},
	} {
		var s Sampler
		st := NewState(p)
		st.Accept(3)
		if n := testing.AllocsPerRun(20, func() { s.Choose(st, x, Want{Logprob: true}) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	x := logits(151936)
	for _, bb := range []struct {
		name string
		p    api.Sampling
	}{
		{"greedy", api.Sampling{}},
		{"plain", api.Sampling{Temperature: 1}},
		{"top-p", api.Sampling{Temperature: 1, TopP: 0.9}},
		{"top-k", api.Sampling{Temperature: 1, TopK: 50}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			var s Sampler
			st := NewState(bb.p)
			for b.Loop() {
				s.Choose(st, x, Want{})
				st.n++
			}
		})
	}
}

func seed(n int64) *int64 { return &n }

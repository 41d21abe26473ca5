package pyrand

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"
)

// TestDraws repeats the draws of scripts/fixtures/load.py with Python and numpy, one kind after the other.
func TestDraws(t *testing.T) {
	text, err := os.ReadFile("testdata/draws.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Seed         uint32
		Random       []float64
		Randrange    []int
		Choices      []int
		Choice       []int
		Shuffle      []int
		Sample       [][]int
		RandomSample []float64 `json:"random_sample"`
		Randint      []int
		Exponential  []float64
		Gamma        []float64
		ChoiceP      []int     `json:"choice_p"`
		DefaultRNG   []float64 `json:"default_rng"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 10 {
		t.Fatalf("%d seeds", len(all))
	}
	for _, want := range all {
		same := func(what string, got, drawn any) {
			if !reflect.DeepEqual(got, drawn) {
				t.Errorf("seed %d: %s:\n%v, want\n%v", want.Seed, what, got, drawn)
			}
		}
		r, s, g := New(uint64(want.Seed)), NewState(want.Seed), NewGenerator(want.Seed)
		same("random", list(3, func(int) float64 { return r.Float() }), want.Random)
		below := []int{1, 2, 3, 10, 1000, 65536, 65537, 1<<31 - 1}
		same("randrange", list(len(below), func(i int) int { return r.Below(below[i]) }), want.Randrange)
		same("choices", list(5, func(int) int { return r.Choose(1000) }), want.Choices)
		same("choice", list(5, func(int) int { return r.Below(7) }), want.Choice)
		numbers := list(12, func(i int) int { return i })
		r.Shuffle(12, func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
		same("shuffle", numbers, want.Shuffle)
		of := [][2]int{{5, 5}, {30, 3}, {1000, 4}, {85, 6}, {86, 6}, {2000, 30}}
		same("sample", list(len(of), func(i int) []int { return r.Sample(of[i][0], of[i][1]) }), want.Sample)

		same("random_sample", list(3, func(int) float64 { return s.Float() }), want.RandomSample)
		spans := [][2]int{{5, 6}, {0, 2}, {1, 1025}, {0, 128000}, {-3, 4}, {0, 1 << 31}, {3, 1000}}
		same("randint", list(11, func(i int) int { return s.Int(spans[min(i, 6)][0], spans[min(i, 6)][1]) }), want.Randint)
		for i, x := range want.Exponential {
			near(t, want.Seed, "exponential", s.Exponential(), x, i)
		}
		for i, shape := range []float64{0.3, 0.9, 1, 1.7, 4, 0.3, 4} {
			near(t, want.Seed, "gamma", s.Gamma(shape), want.Gamma[i], i)
		}
		w := NewWeights(6, func(i int) float64 { return math.Pow(1.5, -float64(i)) })
		same("choice with p", list(8, func(int) int { return w.At(s.Float()) }), want.ChoiceP)
		same("default_rng", list(5, func(int) float64 { return g.Float() }), want.DefaultRNG)
	}
}

func list[T any](n int, at func(int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = at(i)
	}
	return out
}

// near ignores the last digits of a logarithm, which differ between mathematical libraries.
func near(t *testing.T, seed uint32, what string, got, want float64, i int) {
	if math.Abs(got-want) > 1e-14*want {
		t.Errorf("seed %d: %s %d: %v, want %v", seed, what, i, got, want)
	}
}

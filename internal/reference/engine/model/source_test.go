package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

// TestCheckSource checks that a checkpoint that does not fit its config.json is refused.
func TestCheckSource(t *testing.T) {
	base := `"hidden_size": 32, "num_hidden_layers": 1, "vocab_size": 64, "bos_token_id": null, "eos_token_id": 0`
	src := func(overrides string) hf.Source { return NewDummy(mustConfig(t, "llama-tiny", overrides), 1) }
	cases := []struct{ config, weights, want string }{
		{`{` + base + `}`, `{` + base + `}`, ""},
		{`{` + base + `, "tie_word_embeddings": true}`, `{` + base + `}`, ""}, // a head beside the embedding
		{`{` + base + `}`, `{` + base + `, "attention_bias": true}`, `bias" has no place in LlamaForCausalLM`},
		{`{` + base + `, "attention_bias": true}`, `{` + base + `}`, `"model.layers.0.self_attn.k_proj.bias" is missing (and 3 more)`},
		{`{` + base + `}`, `{` + base + `, "intermediate_size": 48}`, "config.json says"},
		{`{` + base + `}`, `{` + base + `, "tie_word_embeddings": true}`, `"lm_head.weight" is missing`},
	}
	for _, c := range cases {
		err := mustConfig(t, "llama-tiny", c.config).CheckSource(src(c.weights))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s for %s: %v; want %q", c.weights, c.config, err, c.want)
		}
	}
}

// TestDummy checks that elements depend only on name, seed and index, and have the documented variance.
func TestDummy(t *testing.T) {
	c := mustConfig(t, "llama-tiny", "")
	const name, n = "model.layers.1.mlp.down_proj.weight", 256 * 768
	read := func(seed uint64, name string, off, n int) []float32 {
		v := make([]float32, n)
		if err := NewDummy(c, seed).Read(name, off, v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := read(1, name, 0, n)
	if !slices.Equal(read(1, name, 1000, 500), all[1000:1500]) {
		t.Error("a part read separately differs")
	}
	if slices.Equal(read(2, name, 0, 100), all[:100]) || slices.Equal(read(1, "lm_head.weight", 0, 100), all[:100]) {
		t.Error("the seed or the name makes no difference")
	}
	sum, squares := 0.0, 0.0
	for _, v := range all {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	if mean, variance := sum/n, squares/n*768; math.Abs(mean) > 5e-4 || math.Abs(variance-1) > 0.01 {
		t.Errorf("mean %g, variance %g/columns", mean, variance)
	}
	if v := read(1, "model.norm.weight", 0, 1); v[0] != 1 {
		t.Errorf("a norm is %g", v[0])
	}
}

package model

import (
	"fmt"
	"slices"
)

// Config is the architecture of a decoder-only transformer with RMSNorm, rotary positions, grouped-query attention and
// SwiGLU, with or without experts. Sizes are in elements.
type Config struct {
	Architecture string // name in Hugging Face transformers, such as "LlamaForCausalLM"
	ModelType    string // "llama", "qwen2", "qwen3", "qwen3_moe"
	DType        string // data type of the checkpoint: "float32", "bfloat16" or "float16"

	Vocab        int
	Hidden       int
	Layers       int
	Heads        int // query heads
	KVHeads      int // divides Heads
	HeadDim      int
	Intermediate int // width of the dense feed-forward
	MaxPositions int // max_position_embeddings
	NormEps      float64
	Rope         Rope

	TiedEmbeddings bool // the output head uses the weights of the embedding
	QKVBias        bool
	OBias          bool
	MLPBias        bool
	QKNorm         bool // RMSNorm of each query and key head before the rotation

	Experts         int // 0: a dense model
	ExpertsPerToken int
	MoEIntermediate int   // width of one expert
	NormTopK        bool  // the weights of the chosen experts are scaled to sum to 1
	SparseStep      int   // layers with (i+1) % SparseStep == 0 have experts
	DenseLayers     []int // layers that have no experts, regardless of SparseStep (mlp_only_layers)

	BOS int32   // -1: none
	EOS []int32 // each of these tokens ends a sequence

	// Notes lists configuration members that this package ignores. No listed member is known to change the result.
	Notes []string
}

// HasExperts reports whether layer i has experts instead of the dense feed-forward.
func (c *Config) HasExperts(i int) bool {
	return c.Experts > 0 && (i+1)%c.SparseStep == 0 && !slices.Contains(c.DenseLayers, i)
}

// ContextLen returns the largest number of positions of a sequence. It is max_position_embeddings. As in SGLang's
// get_context_length, this number is multiplied by the factor of the rotary scaling, unless the scaling states its
// original length.
func (c *Config) ContextLen() int {
	if c.Rope.Original > 0 || c.Rope.Factor <= 1 {
		return c.MaxPositions
	}
	return int(c.Rope.Factor * float64(c.MaxPositions))
}

// Params returns the number of parameters. A head that is tied to the embedding is not counted separately.
func (c *Config) Params() int64 {
	n := int64(c.Vocab) * int64(c.Hidden)
	if !c.TiedEmbeddings {
		n *= 2
	}
	heads, kv := int64(c.Heads*c.HeadDim), int64(c.KVHeads*c.HeadDim)
	h := int64(c.Hidden)
	for i := range c.Layers {
		n += 2*h + h*(2*heads+2*kv)
		if c.QKVBias {
			n += heads + 2*kv
		}
		if c.OBias {
			n += h
		}
		if c.QKNorm {
			n += 2 * int64(c.HeadDim)
		}
		if c.HasExperts(i) {
			n += int64(c.Experts) * h * (1 + 3*int64(c.MoEIntermediate))
			continue
		}
		n += 3 * h * int64(c.Intermediate)
		if c.MLPBias {
			n += h + 2*int64(c.Intermediate)
		}
	}
	return n + h
}

// Limits on sizes. They prevent products of two sizes from overflowing, and they prevent a broken file from requesting
// absurd amounts of memory.
const (
	maxWidth  = 1 << 20
	maxVocab  = 1 << 24
	maxLayers = 1 << 12
)

// Check returns an error if the configuration is impossible.
func (c *Config) Check() error {
	for _, f := range []struct {
		name   string
		v      int
		lo, hi int
	}{
		{"vocab_size", c.Vocab, 1, maxVocab},
		{"hidden_size", c.Hidden, 1, maxWidth},
		{"num_hidden_layers", c.Layers, 1, maxLayers},
		{"num_attention_heads", c.Heads, 1, maxWidth},
		{"num_key_value_heads", c.KVHeads, 1, maxWidth},
		{"head_dim", c.HeadDim, 2, maxWidth},
		{"intermediate_size", c.Intermediate, 1, maxWidth},
		{"max_position_embeddings", c.MaxPositions, 1, 1 << 30},
		{"num_experts", c.Experts, 0, maxWidth},
	} {
		if f.v < f.lo || f.v > f.hi {
			return fmt.Errorf("%s is %d; want %d to %d", f.name, f.v, f.lo, f.hi)
		}
	}
	switch {
	case c.HeadDim%2 != 0:
		return fmt.Errorf("head_dim is %d; rotary embeddings need an even number", c.HeadDim)
	case c.Heads > maxWidth/c.HeadDim:
		return fmt.Errorf("%d heads of %d elements are wider than %d", c.Heads, c.HeadDim, maxWidth)
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("num_attention_heads %d is not a multiple of num_key_value_heads %d", c.Heads, c.KVHeads)
	case !(c.NormEps >= 0 && c.NormEps < 1):
		return fmt.Errorf("rms_norm_eps is %g; want 0 to 1", c.NormEps)
	}
	if c.Experts > 0 {
		switch {
		case c.ExpertsPerToken < 1 || c.ExpertsPerToken > c.Experts:
			return fmt.Errorf("num_experts_per_tok is %d of %d experts", c.ExpertsPerToken, c.Experts)
		case c.MoEIntermediate < 1 || c.MoEIntermediate > maxWidth:
			return fmt.Errorf("moe_intermediate_size is %d; want 1 to %d", c.MoEIntermediate, maxWidth)
		case c.SparseStep < 1:
			return fmt.Errorf("decoder_sparse_step is %d; want at least 1", c.SparseStep)
		}
	}
	for _, id := range c.EOS {
		if id < 0 || int(id) >= c.Vocab {
			return fmt.Errorf("eos_token_id %d is outside the vocabulary of %d", id, c.Vocab)
		}
	}
	return c.Rope.check()
}

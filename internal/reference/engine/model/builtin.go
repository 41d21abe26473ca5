package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// BuiltinPrefix marks a model path that names a built-in configuration.
const BuiltinPrefix = "builtin:"

// builtins are the built-in configurations. They are small enough for any machine, use the real architectures, and can
// be divided for TP 1, 2, 4 and EP 2. They use the vocabulary of the built-in tokenizer: 256 bytes, special tokens and
// made-up words. Token 256 begins a text, and token 257 ends it.
var builtins = map[string]string{
	"llama-tiny": `{
		"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16",
		"vocab_size": 512, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8,
		"num_key_value_heads": 4, "head_dim": 32, "intermediate_size": 768, "max_position_embeddings": 8192,
		"rms_norm_eps": 1e-5, "tie_word_embeddings": false, "bos_token_id": 256, "eos_token_id": 257,
		"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}}`,
	"qwen3-moe-tiny": `{
		"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "dtype": "bfloat16",
		"vocab_size": 512, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8,
		"num_key_value_heads": 4, "head_dim": 32, "intermediate_size": 768, "moe_intermediate_size": 128,
		"num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": true, "decoder_sparse_step": 1,
		"mlp_only_layers": [], "max_position_embeddings": 8192, "rms_norm_eps": 1e-6, "tie_word_embeddings": false,
		"bos_token_id": 256, "eos_token_id": 257, "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}}`,
}

// Builtins lists the names of the built-in configurations, sorted.
func Builtins() []string { return slices.Sorted(maps.Keys(builtins)) }

// BuiltinConfig returns a built-in configuration by its name, with or without BuiltinPrefix. Its weights come from
// [Dummy].
func BuiltinConfig(name string, overrides []byte) (*Config, error) {
	text, ok := builtins[strings.TrimPrefix(name, BuiltinPrefix)]
	if !ok {
		return nil, fmt.Errorf("no built-in model %q; choose from %s", name, strings.Join(Builtins(), ", "))
	}
	c, err := ParseConfig([]byte(text), overrides)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return c, nil
}

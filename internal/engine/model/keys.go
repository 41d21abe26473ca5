package model

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// keys reads the members of one JSON object. The first error stays, and later reads answer their defaults. A null
// counts as missing.
type keys struct {
	raw  map[string]json.RawMessage
	read map[string]bool
	err  error
}

func newKeys(data []byte) (*keys, error) {
	r := &keys{read: map[string]bool{}}
	if err := decodeStrict(data, &r.raw); err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	if r.raw == nil {
		return nil, fmt.Errorf("want a JSON object, not null")
	}
	return r, nil
}

func (r *keys) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// get decodes member key into v and tells whether it is there.
func (r *keys) get(key string, v any, want string) bool {
	r.read[key] = true
	raw, ok := r.raw[key]
	if !ok || string(raw) == "null" {
		return false
	}
	if err := decodeStrict(raw, v); err != nil {
		r.fail("%s is %.40s; want %s", key, raw, want)
		return false
	}
	return true
}

func (r *keys) str(key, missing string) string {
	var v string
	if r.get(key, &v, "a string") {
		return v
	}
	return missing
}

func (r *keys) bool(key string, missing bool) bool {
	var v bool
	if r.get(key, &v, "true or false") {
		return v
	}
	return missing
}

func (r *keys) float(key string, missing float64) float64 {
	var v float64
	if r.get(key, &v, "a number") {
		return v
	}
	return missing
}

// int accepts 4096.0 as some configurations write it, and numbers that fit 32 bits.
func (r *keys) int(key string, missing int) int {
	var v float64
	if !r.get(key, &v, "an integer") {
		return missing
	}
	if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
		r.fail("%s is %g; want an integer", key, v)
		return missing
	}
	return int(v)
}

func (r *keys) strings(key string) []string {
	var v []string
	r.get(key, &v, "a list of strings")
	return v
}

// ids reads an integer or a list of integers.
func (r *keys) ids(key string) []int32 {
	r.read[key] = true
	raw := r.raw[key]
	var list []int32
	if len(raw) > 0 && raw[0] == '[' {
		r.get(key, &list, "a list of integers")
		return list
	}
	var one int32
	if r.get(key, &one, "an integer or a list of integers") {
		return []int32{one}
	}
	return nil
}

// object reads a nested object; nil if it is missing or empty.
func (r *keys) object(key string) *keys {
	var raw map[string]json.RawMessage
	if !r.get(key, &raw, "an object") || len(raw) == 0 {
		return nil
	}
	return &keys{raw: raw, read: map[string]bool{}}
}

// unread lists the members that nothing asked for and that are not known to be harmless, sorted.
func (r *keys) unread() []string {
	var names []string
	for key, raw := range r.raw {
		if !r.read[key] && !harmless[key] && string(raw) != "null" {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}

// harmless are members that speak of training, of generation defaults or of the file itself.
var harmless = set(
	"_name_or_path", "transformers_version", "initializer_range", "use_cache", "pad_token_id", "attention_dropout",
	"hidden_dropout", "resid_pdrop", "embd_pdrop", "pretraining_tp", "output_router_logits", "router_aux_loss_coef",
	"output_attentions", "output_hidden_states", "return_dict", "chunk_size_feed_forward", "is_encoder_decoder",
	"id2label", "label2id", "problem_type", "task_specific_params", "tokenizer_class", "rope_theta", "mlp_bias",
	"attention_bias", "num_local_experts", "finetuning_task",
)

// known are the members that overrides may name.
var known = set(
	"architectures", "model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
	"num_key_value_heads", "head_dim", "intermediate_size", "max_position_embeddings", "rms_norm_eps",
	"tie_word_embeddings", "attention_bias", "mlp_bias", "eos_token_id", "bos_token_id", "torch_dtype", "dtype",
	"num_experts", "num_local_experts", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob",
	"decoder_sparse_step", "mlp_only_layers", "rope_theta", "rope_scaling", "rope_parameters", "hidden_act",
	"sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "quantization_config",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

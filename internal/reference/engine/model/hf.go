package model

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

// LoadConfig reads config.json of a Hugging Face directory, and the end tokens from generation_config.json in the same
// directory. overrides, if not empty, is a JSON object (SGLang's --json-model-override-args). Its members replace the
// members of the file. A null removes a member.
func LoadConfig(dir string, overrides []byte) (*Config, error) {
	path := filepath.Join(dir, "config.json")
	data, err := hf.ReadSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no config.json: not a Hugging Face model directory", dir)
	}
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(data, overrides)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, "generation_config.json")
	data, err = hf.ReadSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := hf.ParseKeys(data)
	if err == nil {
		more := r.IDs("eos_token_id")
		for _, id := range more {
			if !slices.Contains(c.EOS, id) {
				c.EOS = append(c.EOS, id)
			}
		}
		if err = r.Err; err == nil {
			err = c.Check()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// family holds the defaults of transformers for an architecture.
type family struct {
	modelType string
	eps       float64
	qkvBias   bool // the projections of queries, keys and values always have a bias
	qkNorm    bool
	moe       bool
}

var families = map[string]family{
	"LlamaForCausalLM":    {modelType: "llama", eps: 1e-6},
	"Qwen2ForCausalLM":    {modelType: "qwen2", eps: 1e-6, qkvBias: true},
	"Qwen3ForCausalLM":    {modelType: "qwen3", eps: 1e-6, qkNorm: true},
	"Qwen3MoeForCausalLM": {modelType: "qwen3_moe", eps: 1e-6, qkNorm: true, moe: true},
}

// Architectures lists the supported architectures, sorted.
func Architectures() []string { return slices.Sorted(maps.Keys(families)) }

// ParseConfig parses the text of a config.json; see [LoadConfig].
func ParseConfig(data, overrides []byte) (*Config, error) {
	r, err := hf.ParseKeys(data)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(overrides)) > 0 {
		o, err := hf.ParseKeys(overrides)
		if err != nil {
			return nil, fmt.Errorf("overrides: %w", err)
		}
		if key := r.Override(o, known); key != "" {
			return nil, fmt.Errorf("overrides: %q is not a key that this engine reads", key)
		}
	}
	c, err := keys{r}.config()
	if err != nil {
		return nil, err
	}
	return c, c.Check()
}

// keys are the members of a config.json.
type keys struct{ *hf.Keys }

func (r keys) config() (*Config, error) {
	arch := r.architecture()
	f, ok := families[arch]
	if r.Err == nil && !ok {
		return nil, fmt.Errorf("architecture %q is not supported; this engine runs %s", arch, strings.Join(Architectures(), ", "))
	}
	c := &Config{
		Architecture: arch,
		ModelType:    f.modelType,
		Vocab:        r.Int("vocab_size", 0),
		Hidden:       r.Int("hidden_size", 0),
		Layers:       r.Int("num_hidden_layers", 0),
		Heads:        r.Int("num_attention_heads", 0),
		Intermediate: r.Int("intermediate_size", 0),
		MaxPositions: r.Int("max_position_embeddings", 2048),
		NormEps:      r.Float("rms_norm_eps", f.eps),

		TiedEmbeddings: r.Bool("tie_word_embeddings", false),
		QKVBias:        f.qkvBias,
		QKNorm:         f.qkNorm,
		BOS:            -1,
		EOS:            r.IDs("eos_token_id"),
		DType:          r.Str("torch_dtype", "float32"),
	}
	c.DType = strings.TrimPrefix(r.Str("dtype", c.DType), "torch.")
	c.KVHeads = r.Int("num_key_value_heads", c.Heads)
	if c.Heads > 0 {
		c.HeadDim = c.Hidden / c.Heads
	}
	c.HeadDim = r.Int("head_dim", c.HeadDim)
	if ids := r.IDs("bos_token_id"); len(ids) > 0 {
		c.BOS = ids[0]
	}
	if !f.qkvBias { // Qwen2 always has the bias
		c.QKVBias = r.Bool("attention_bias", false)
		c.OBias = c.QKVBias
	}
	if f.modelType == "llama" {
		c.MLPBias = r.Bool("mlp_bias", false)
	}
	if f.moe {
		r.experts(c)
	}
	c.Rope = r.rope(c)
	r.refuse(c)
	c.Notes = r.Unread(harmless)
	return c, r.Err
}

// architecture returns the only name in "architectures", or the architecture that belongs to "model_type".
func (r keys) architecture() string {
	names := r.Strings("architectures")
	modelType := r.Str("model_type", "")
	switch {
	case len(names) == 1:
		return names[0]
	case len(names) > 1:
		r.Fail("architectures lists %d classes; want one", len(names))
	case modelType == "":
		r.Fail("neither architectures nor model_type is present; is this a Hugging Face config.json?")
	}
	for name, f := range families {
		if f.modelType == modelType {
			return name
		}
	}
	return modelType
}

func (r keys) experts(c *Config) {
	c.Experts = r.Int("num_experts", r.Int("num_local_experts", 0))
	c.ExpertsPerToken = r.Int("num_experts_per_tok", 8)
	c.MoEIntermediate = r.Int("moe_intermediate_size", 768)
	c.NormTopK = r.Bool("norm_topk_prob", false)
	c.SparseStep = r.Int("decoder_sparse_step", 1)
	for _, i := range r.IDs("mlp_only_layers") {
		c.DenseLayers = append(c.DenseLayers, int(i))
	}
	if r.Err == nil && c.Experts < 1 {
		r.Fail("num_experts is missing")
	}
}

// rope reads "rope_parameters" (transformers 5) or "rope_theta" and "rope_scaling" (earlier versions). If
// "rope_parameters" and "rope_scaling" are both present, "rope_scaling" comes from an override and determines the
// scaling.
func (r keys) rope(c *Config) Rope {
	theta := r.Float("rope_theta", 10000)
	p := r.Object("rope_parameters")
	if p != nil {
		theta = p.Float("rope_theta", theta)
	}
	if scaling := r.Object("rope_scaling"); scaling != nil {
		p = scaling
	}
	if p == nil {
		return Rope{Type: RopeDefault, Theta: theta}
	}
	kind := RopeType(p.Str("rope_type", p.Str("type", string(RopeDefault))))
	rope := Rope{Type: kind, Theta: p.Float("rope_theta", theta)}
	switch kind {
	case RopeDefault:
	case RopeLinear:
		rope.Factor = p.Float("factor", 0)
	case RopeLlama3:
		rope.Factor = p.Float("factor", 0)
		rope.Original = p.Int("original_max_position_embeddings", 0)
		rope.LowFreq = p.Float("low_freq_factor", 0)
		rope.HighFreq = p.Float("high_freq_factor", 0)
	case RopeYaRN:
		rope.Original = p.Int("original_max_position_embeddings", c.MaxPositions)
		if rope.Original > 0 {
			rope.Factor = p.Float("factor", float64(c.MaxPositions)/float64(rope.Original))
		}
		rope.BetaFast, rope.BetaSlow = p.Float("beta_fast", 32), p.Float("beta_slow", 1)
		rope.Attention = p.Float("attention_factor", 0)
		rope.MScale, rope.MScaleAll = p.Float("mscale", 0), p.Float("mscale_all_dim", 0)
		rope.NoTruncate = !p.Bool("truncate", true)
	default:
		r.Fail("rope_type %q is not supported; this engine supports default, linear, llama3 and yarn", kind)
	}
	if part := p.Float("partial_rotary_factor", 1); part != 1 {
		r.Fail("partial_rotary_factor %g is not supported", part)
	}
	if r.Err == nil && p.Err != nil {
		r.Err = fmt.Errorf("rope: %w", p.Err)
	}
	if left := p.Unread(harmless); r.Err == nil && len(left) > 0 {
		r.Fail("rope: %s is not supported", left[0])
	}
	return rope
}

// refuse sets an error if the configuration has an unsupported feature that would change the result.
func (r keys) refuse(c *Config) {
	if act := r.Str("hidden_act", "silu"); act != "silu" {
		r.Fail("hidden_act %q is not supported; this engine supports silu", act)
	}
	for _, key := range []string{"quantization_config", "compression_config", "quantization"} {
		if q := r.Object(key); q != nil {
			r.Fail("%s (%s) is not supported; use a checkpoint in float32, bfloat16 or float16", key, q.Str("quant_method", "any method"))
		}
	}
	if part := r.Float("partial_rotary_factor", 1); part != 1 {
		r.Fail("partial_rotary_factor %g is not supported", part)
	}
	for i, kind := range r.Strings("layer_types") {
		if kind != "full_attention" {
			r.Fail("layer %d has %s; this engine supports full_attention only", i, kind)
		}
	}
	window, from := r.Int("sliding_window", 0), r.Int("max_window_layers", 0)
	if r.Bool("use_sliding_window", false) && window > 0 && from < c.Layers {
		r.Fail("sliding_window attention is not supported; %q turns it off", `{"use_sliding_window": false}`)
	}
	if c.ModelType == "llama" && window > 0 {
		r.Fail("sliding_window attention is not supported")
	}
	switch c.DType {
	case "float32", "bfloat16", "float16":
	default:
		r.Fail("dtype %q is not supported; this engine reads float32, bfloat16 and float16", c.DType)
	}
}

// harmless lists the ignored members: they concern only training, generation defaults or the file itself.
var harmless = set(
	"_name_or_path", "transformers_version", "initializer_range", "use_cache", "pad_token_id", "attention_dropout",
	"hidden_dropout", "resid_pdrop", "embd_pdrop", "pretraining_tp", "output_router_logits", "router_aux_loss_coef",
	"output_attentions", "output_hidden_states", "return_dict", "chunk_size_feed_forward", "is_encoder_decoder",
	"id2label", "label2id", "problem_type", "task_specific_params", "tokenizer_class", "rope_theta", "mlp_bias",
	"attention_bias", "num_local_experts", "finetuning_task",
)

// known lists the members that overrides may contain.
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

package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const maxConfigBytes = 16 << 20

// LoadConfig reads config.json of a Hugging Face directory, and the end tokens of generation_config.json beside it.
// overrides, if not empty, is a JSON object (SGLang's --json-model-override-args) whose keys take the place of the
// file's; a null takes one away.
func LoadConfig(dir string, overrides []byte) (*Config, error) {
	path := filepath.Join(dir, "config.json")
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no config.json: not the directory of a Hugging Face model", dir)
	}
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(data, overrides)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, "generation_config.json")
	data, err = readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := newKeys(data)
	if err == nil {
		more := r.ids("eos_token_id")
		for _, id := range more {
			if !slices.Contains(c.EOS, id) {
				c.EOS = append(c.EOS, id)
			}
		}
		if err = r.err; err == nil {
			err = c.Check()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// readSmall reads a file of at most maxConfigBytes.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err == nil && len(data) > maxConfigBytes {
		err = fmt.Errorf("%s: larger than %d MiB; is it a configuration?", path, maxConfigBytes>>20)
	}
	return data, err
}

// family is what transformers takes for granted of an architecture.
type family struct {
	modelType string
	eps       float64
	qkvBias   bool // always
	qkNorm    bool
	moe       bool
}

var families = map[string]family{
	"LlamaForCausalLM":    {modelType: "llama", eps: 1e-6},
	"Qwen2ForCausalLM":    {modelType: "qwen2", eps: 1e-6, qkvBias: true},
	"Qwen3ForCausalLM":    {modelType: "qwen3", eps: 1e-6, qkNorm: true},
	"Qwen3MoeForCausalLM": {modelType: "qwen3_moe", eps: 1e-6, qkNorm: true, moe: true},
}

// Architectures lists what can be loaded, sorted.
func Architectures() []string { return slices.Sorted(maps.Keys(families)) }

// ParseConfig is LoadConfig for the text of a config.json.
func ParseConfig(data, overrides []byte) (*Config, error) {
	r, err := newKeys(data)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(overrides)) > 0 {
		o, err := newKeys(overrides)
		if err != nil {
			return nil, fmt.Errorf("overrides: %w", err)
		}
		for key, value := range o.raw {
			if !known[key] {
				return nil, fmt.Errorf("overrides: %q is no key that this engine reads", key)
			}
			r.raw[key] = value
		}
	}
	c, err := r.config()
	if err != nil {
		return nil, err
	}
	return c, c.Check()
}

func (r *keys) config() (*Config, error) {
	arch := r.architecture()
	f, ok := families[arch]
	if r.err == nil && !ok {
		return nil, fmt.Errorf("architecture %q is not supported; this engine runs %s", arch, strings.Join(Architectures(), ", "))
	}
	c := &Config{
		Architecture: arch,
		ModelType:    f.modelType,
		Vocab:        r.int("vocab_size", 0),
		Hidden:       r.int("hidden_size", 0),
		Layers:       r.int("num_hidden_layers", 0),
		Heads:        r.int("num_attention_heads", 0),
		Intermediate: r.int("intermediate_size", 0),
		MaxPositions: r.int("max_position_embeddings", 2048),
		NormEps:      r.float("rms_norm_eps", f.eps),

		TiedEmbeddings: r.bool("tie_word_embeddings", false),
		QKVBias:        f.qkvBias,
		QKNorm:         f.qkNorm,
		BOS:            -1,
		EOS:            r.ids("eos_token_id"),
		DType:          r.str("torch_dtype", "float32"),
	}
	c.DType = strings.TrimPrefix(r.str("dtype", c.DType), "torch.")
	c.KVHeads = r.int("num_key_value_heads", c.Heads)
	if c.Heads > 0 {
		c.HeadDim = c.Hidden / c.Heads
	}
	c.HeadDim = r.int("head_dim", c.HeadDim)
	if ids := r.ids("bos_token_id"); len(ids) > 0 {
		c.BOS = ids[0]
	}
	if !f.qkvBias { // Qwen2's is no option
		c.QKVBias = r.bool("attention_bias", false)
		c.OBias = c.QKVBias
	}
	if f.modelType == "llama" {
		c.MLPBias = r.bool("mlp_bias", false)
	}
	if f.moe {
		r.experts(c)
	}
	c.Rope = r.rope(c)
	r.refuse(c)
	c.Notes = r.unread()
	return c, r.err
}

// architecture is the one name of "architectures", or the one that belongs to "model_type".
func (r *keys) architecture() string {
	names := r.strings("architectures")
	modelType := r.str("model_type", "")
	switch {
	case len(names) == 1:
		return names[0]
	case len(names) > 1:
		r.fail("architectures names %d; want one", len(names))
	case modelType == "":
		r.fail("neither architectures nor model_type is there; is this a Hugging Face config.json?")
	}
	for name, f := range families {
		if f.modelType == modelType {
			return name
		}
	}
	return modelType
}

func (r *keys) experts(c *Config) {
	c.Experts = r.int("num_experts", r.int("num_local_experts", 0))
	c.ExpertsPerToken = r.int("num_experts_per_tok", 8)
	c.MoEIntermediate = r.int("moe_intermediate_size", 768)
	c.NormTopK = r.bool("norm_topk_prob", false)
	c.SparseStep = r.int("decoder_sparse_step", 1)
	for _, i := range r.ids("mlp_only_layers") {
		c.DenseLayers = append(c.DenseLayers, int(i))
	}
	if r.err == nil && c.Experts < 1 {
		r.fail("num_experts is missing")
	}
}

// rope reads "rope_parameters" (transformers 5) or "rope_theta" and "rope_scaling" (before). Of both the second, which
// is then an override, says the scaling.
func (r *keys) rope(c *Config) Rope {
	theta := r.float("rope_theta", 10000)
	p := r.object("rope_parameters")
	if p != nil {
		theta = p.float("rope_theta", theta)
	}
	if scaling := r.object("rope_scaling"); scaling != nil {
		p = scaling
	}
	if p == nil {
		return Rope{Type: RopeDefault, Theta: theta}
	}
	kind := RopeType(p.str("rope_type", p.str("type", string(RopeDefault))))
	rope := Rope{Type: kind, Theta: p.float("rope_theta", theta)}
	switch kind {
	case RopeDefault:
	case RopeLinear:
		rope.Factor = p.float("factor", 0)
	case RopeLlama3:
		rope.Factor = p.float("factor", 0)
		rope.Original = p.int("original_max_position_embeddings", 0)
		rope.LowFreq = p.float("low_freq_factor", 0)
		rope.HighFreq = p.float("high_freq_factor", 0)
	case RopeYaRN:
		rope.Original = p.int("original_max_position_embeddings", c.MaxPositions)
		if rope.Original > 0 {
			rope.Factor = p.float("factor", float64(c.MaxPositions)/float64(rope.Original))
		}
		rope.BetaFast, rope.BetaSlow = p.float("beta_fast", 32), p.float("beta_slow", 1)
		rope.Attention = p.float("attention_factor", 0)
		rope.MScale, rope.MScaleAll = p.float("mscale", 0), p.float("mscale_all_dim", 0)
		rope.NoTruncate = !p.bool("truncate", true)
	default:
		r.fail("rope_type %q is not supported; this engine knows default, linear, llama3 and yarn", kind)
	}
	if part := p.float("partial_rotary_factor", 1); part != 1 {
		r.fail("partial_rotary_factor %g is not supported", part)
	}
	if r.err == nil && p.err != nil {
		r.err = fmt.Errorf("rope: %w", p.err)
	}
	if left := p.unread(); r.err == nil && len(left) > 0 {
		r.fail("rope: %s is not supported", left[0])
	}
	return rope
}

// refuse reports features that change the result and are not implemented.
func (r *keys) refuse(c *Config) {
	if act := r.str("hidden_act", "silu"); act != "silu" {
		r.fail("hidden_act %q is not supported; this engine has silu", act)
	}
	for _, key := range []string{"quantization_config", "compression_config", "quantization"} {
		if q := r.object(key); q != nil {
			r.fail("%s (%s) is not supported; use a checkpoint in float32, bfloat16 or float16", key, q.str("quant_method", "of any method"))
		}
	}
	if part := r.float("partial_rotary_factor", 1); part != 1 {
		r.fail("partial_rotary_factor %g is not supported", part)
	}
	for i, kind := range r.strings("layer_types") {
		if kind != "full_attention" {
			r.fail("layer %d has %s; this engine has full_attention alone", i, kind)
		}
	}
	window, from := r.int("sliding_window", 0), r.int("max_window_layers", 0)
	if r.bool("use_sliding_window", false) && window > 0 && from < c.Layers {
		r.fail("sliding_window attention is not supported; with %q it is off", `{"use_sliding_window": false}`)
	}
	if c.ModelType == "llama" && window > 0 {
		r.fail("sliding_window attention is not supported")
	}
	switch c.DType {
	case "float32", "bfloat16", "float16":
	default:
		r.fail("dtype %q is not supported; this engine reads float32, bfloat16 and float16", c.DType)
	}
}

// decodeStrict decodes one JSON value and nothing after it.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("text after the JSON value")
	}
	return nil
}

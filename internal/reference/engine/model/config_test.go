package model

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// llama31 is the config.json of Llama 3.1 8B, as published.
const llama31 = `{
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
  "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.42.3", "use_cache": true,
  "vocab_size": 128256}`

const qwen25 = `{
  "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "eos_token_id": 151645,
  "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02, "intermediate_size": 4864,
  "max_position_embeddings": 32768, "max_window_layers": 21, "model_type": "qwen2", "num_attention_heads": 14,
  "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
  "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_sliding_window": false,
  "vocab_size": 151936}`

const qwen3moe = `{
  "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "bos_token_id": 151643, "decoder_sparse_step": 1,
  "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144,
  "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [], "model_type": "qwen3_moe",
  "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128,
  "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false,
  "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001,
  "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_sliding_window": false,
  "vocab_size": 151936}`

func TestPublishedConfigs(t *testing.T) {
	cases := []struct {
		name, text string
		want       Config
		params     int64 // as published
		context    int
	}{
		{"Llama-3.1-8B", llama31, Config{
			Architecture: "LlamaForCausalLM", ModelType: "llama", DType: "bfloat16", Vocab: 128256, Hidden: 4096,
			Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128, Intermediate: 14336, MaxPositions: 131072, NormEps: 1e-5,
			Rope: Rope{Type: RopeLlama3, Theta: 500000, Factor: 8, Original: 8192, LowFreq: 1, HighFreq: 4},
			BOS:  128000, EOS: []int32{128001, 128008, 128009},
		}, 8_030_261_248, 131072},
		{"Qwen2.5-0.5B", qwen25, Config{
			Architecture: "Qwen2ForCausalLM", ModelType: "qwen2", DType: "bfloat16", Vocab: 151936, Hidden: 896,
			Layers: 24, Heads: 14, KVHeads: 2, HeadDim: 64, Intermediate: 4864, MaxPositions: 32768, NormEps: 1e-6,
			Rope: Rope{Type: RopeDefault, Theta: 1e6}, TiedEmbeddings: true, QKVBias: true,
			BOS: 151643, EOS: []int32{151645},
		}, 494_032_768, 32768},
		{"Qwen3-30B-A3B", qwen3moe, Config{
			Architecture: "Qwen3MoeForCausalLM", ModelType: "qwen3_moe", DType: "bfloat16", Vocab: 151936, Hidden: 2048,
			Layers: 48, Heads: 32, KVHeads: 4, HeadDim: 128, Intermediate: 6144, MaxPositions: 40960, NormEps: 1e-6,
			Rope: Rope{Type: RopeDefault, Theta: 1e6}, QKNorm: true,
			Experts: 128, ExpertsPerToken: 8, MoEIntermediate: 768, NormTopK: true, SparseStep: 1,
			BOS: 151643, EOS: []int32{151645},
		}, 30_532_122_624, 40960},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseConfig([]byte(c.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got  %+v\nwant %+v", *got, c.want)
			}
			if got.Params() != c.params || got.ContextLen() != c.context {
				t.Errorf("%d parameters, context %d; want %d and %d", got.Params(), got.ContextLen(), c.params, c.context)
			}
		})
	}
}

func TestParamsCountTensors(t *testing.T) {
	for _, name := range fixtures {
		f := loadFixture(t, name)
		var n int64
		for _, shape := range f.cfg.Tensors() {
			size := int64(1)
			for _, d := range shape {
				size *= int64(d)
			}
			n += size
		}
		if n != f.cfg.Params() {
			t.Errorf("%s: tensors have %d parameters, Params says %d", name, n, f.cfg.Params())
		}
	}
}

func TestOverrides(t *testing.T) {
	cases := []struct {
		overrides string
		get       func(*Config) any
		want      any
	}{
		{`{"num_hidden_layers": 3}`, func(c *Config) any { return c.Layers }, 3},
		{`{"eos_token_id": null}`, func(c *Config) any { return len(c.EOS) }, 0},
		{`{"rope_scaling": {"type": "linear", "factor": 4}}`, func(c *Config) any { return c.Rope },
			Rope{Type: RopeLinear, Theta: 500000, Factor: 4}},
		{`{"rope_scaling": {"type": "linear", "factor": 4}}`, func(c *Config) any { return c.ContextLen() }, 4 * 131072},
		{`{"max_position_embeddings": 4096.0}`, func(c *Config) any { return c.MaxPositions }, 4096},
		{" \n", func(c *Config) any { return c.Layers }, 32},
	}
	for _, c := range cases {
		got, err := ParseConfig([]byte(llama31), []byte(c.overrides))
		if err != nil {
			t.Errorf("%s: %v", c.overrides, err)
		} else if v := c.get(got); !reflect.DeepEqual(v, c.want) {
			t.Errorf("%s: %v, want %v", c.overrides, v, c.want)
		}
	}
}

// TestRefusals checks that configurations that this engine would compute wrongly are refused.
func TestRefusals(t *testing.T) {
	cases := []struct{ base, overrides, want string }{
		{llama31, `{"architectures": ["MixtralForCausalLM"]}`, `architecture "MixtralForCausalLM" is not supported; this engine runs LlamaForCausalLM, Qwen2`},
		{llama31, `{"architectures": null, "model_type": null}`, "is this a Hugging Face config.json?"},
		{llama31, `{"architectures": null, "model_type": "gemma"}`, `architecture "gemma" is not supported`},
		{llama31, `{"hidden_act": "gelu"}`, `hidden_act "gelu"`},
		{llama31, `{"quantization_config": {"quant_method": "awq"}}`, "quantization_config (awq) is not supported"},
		{llama31, `{"rope_scaling": {"rope_type": "dynamic", "factor": 2}}`, `rope_type "dynamic" is not supported`},
		{llama31, `{"rope_scaling": {"rope_type": "longrope", "factor": 2}}`, `rope_type "longrope" is not supported`},
		{llama31, `{"rope_scaling": {"rope_type": "linear", "factor": 2, "mrope_section": [1]}}`, "mrope_section is not supported"},
		{llama31, `{"rope_scaling": {"rope_type": "linear"}}`, "factor of rope linear is 0"},
		{llama31, `{"rope_scaling": {"rope_type": "yarn", "factor": "x"}}`, `rope: factor is "x"; want a number`},
		{llama31, `{"sliding_window": 4096}`, "sliding_window"},
		{qwen25, `{"use_sliding_window": true}`, "sliding_window attention is not supported"},
		{qwen25, `{"layer_types": ["full_attention", "sliding_attention"]}`, "layer 1 has sliding_attention"},
		{llama31, `{"torch_dtype": "float8_e4m3fn"}`, `dtype "float8_e4m3fn" is not supported`},
		{llama31, `{"vocab_size": null}`, "vocab_size is 0; want 1"},
		{llama31, `{"hidden_size": 1.5}`, "hidden_size is 1.5; want an integer"},
		{llama31, `{"hidden_size": 9999999999}`, "hidden_size is 9.999999999e+09; want an integer"},
		{llama31, `{"head_dim": 3}`, "head_dim is 3"},
		{llama31, `{"num_key_value_heads": 5}`, "num_attention_heads 32 is not a multiple of num_key_value_heads 5"},
		{llama31, `{"eos_token_id": 128256}`, "eos_token_id 128256 is outside the vocabulary"},
		{llama31, `{"tie_word_embedings": true}`, `"tie_word_embedings" is not a key that this engine reads`},
		{llama31, `[1]`, "overrides: want a JSON object"},
		{llama31, `{} {}`, "text after the JSON value"},
		{qwen3moe, `{"num_experts": null}`, "num_experts is missing"},
		{qwen3moe, `{"num_experts_per_tok": 200}`, "num_experts_per_tok is 200 of 128"},
		{`null`, ``, "want a JSON object"},
		{`{`, ``, "want a JSON object"},
	}
	for _, c := range cases {
		_, err := ParseConfig([]byte(c.base), []byte(c.overrides))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.overrides, err, c.want)
		}
	}
}

func TestNotes(t *testing.T) {
	c, err := ParseConfig([]byte(strings.Replace(qwen25, "{", `{"unsloth_fixed": true,`, 1)), nil)
	if err != nil || !slices.Equal(c.Notes, []string{"unsloth_fixed"}) {
		t.Errorf("notes %q, error %v", c.Notes, err)
	}
}

func TestLoadConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadConfig(dir, nil); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("an empty directory: %v", err)
	}
	write("config.json", qwen25)
	write("generation_config.json", `{"eos_token_id": [151645, 151643], "temperature": 0.7}`)
	c, err := LoadConfig(dir, nil)
	if err != nil || !slices.Equal(c.EOS, []int32{151645, 151643}) {
		t.Errorf("end tokens %v, error %v", c, err)
	}
	write("generation_config.json", `{"eos_token_id": [999999]}`)
	if _, err := LoadConfig(dir, nil); err == nil || !strings.Contains(err.Error(), "generation_config.json: eos_token_id 999999") {
		t.Errorf("an end token outside the vocabulary: %v", err)
	}
}

// TestRopeFrequencies checks the factor of cos and sin; the fixtures check the frequencies themselves.
func TestRopeFrequencies(t *testing.T) {
	r := Rope{Type: RopeYaRN, Theta: 10000, Factor: 4, Original: 128, BetaFast: 32, BetaSlow: 1}
	_, scale := r.frequencies(16)
	if want := 0.1*math.Log(4) + 1; scale != want {
		t.Errorf("scale %g, want %g", scale, want)
	}
	r.MScale, r.MScaleAll = 1, 0.5
	if _, scale = r.frequencies(16); math.Abs(scale-(0.1*math.Log(4)+1)/(0.05*math.Log(4)+1)) > 1e-15 {
		t.Errorf("scale with mscale %g", scale)
	}
	r.Attention = 1.25
	if _, scale = r.frequencies(16); scale != 1.25 {
		t.Errorf("scale %g, want the given one", scale)
	}
}

func TestBuiltins(t *testing.T) {
	for _, name := range Builtins() {
		c := mustConfig(t, BuiltinPrefix+name, "")
		if p := c.Params(); p < 1e6 || p > 10e6 {
			t.Errorf("%s has %d parameters", name, p)
		}
		for _, s := range []Shard{{TPSize: 1}, {TPSize: 2}, {TPSize: 4}, {TPSize: 2, PPSize: 2}} {
			if err := c.CheckShard(s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := BuiltinConfig("builtin:gpt-5", nil); err == nil || !strings.Contains(err.Error(), "choose from llama-tiny, qwen3-moe-tiny") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestCheckShard(t *testing.T) {
	for _, c := range []struct {
		base, overrides string
		s               Shard
		want            string
	}{
		{"llama-tiny", ``, Shard{TPSize: 3}, "num_attention_heads 8 is not divisible by tp-size 3"},
		{"llama-tiny", `{"num_attention_heads": 12, "num_key_value_heads": 4}`, Shard{TPSize: 6}, "one must divide the other"},
		{"llama-tiny", ``, Shard{PPSize: 5}, "pp-size 5 exceeds the 4 layers"},
		{"llama-tiny", ``, Shard{TPSize: 2, EPSize: 2}, "ep-size 2 for a model without experts"},
		{"llama-tiny", `{"vocab_size": 5, "bos_token_id": null, "eos_token_id": 0}`, Shard{TPSize: 4}, "too small for tp-size 4"},
		{"qwen3-moe-tiny", ``, Shard{EPSize: 2}, "tp-size 1 is not divisible by ep-size 2"},
		{"qwen3-moe-tiny", `{"num_experts": 3}`, Shard{TPSize: 2, EPSize: 2}, "num_experts 3 is not divisible by ep-size 2"},
		{"llama-tiny", ``, Shard{TPSize: 2, TPRank: 2}, "does not exist"},
	} {
		err := mustConfig(t, c.base, c.overrides).CheckShard(c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %s", c.s, err, c.want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(llama31), []byte(nil))
	f.Add([]byte(qwen25), []byte(`{"rope_scaling": {"type": "yarn", "factor": 4}}`))
	f.Add([]byte(qwen3moe), []byte(`{"mlp_only_layers": [1]}`))
	f.Fuzz(func(t *testing.T, text, overrides []byte) {
		c, err := ParseConfig(text, overrides)
		if err != nil {
			return
		}
		if err := c.Check(); err != nil {
			t.Fatalf("parsed, but %v", err)
		}
		if c.Params() < int64(c.Vocab) {
			t.Fatalf("%d parameters for a vocabulary of %d", c.Params(), c.Vocab)
		}
	})
}

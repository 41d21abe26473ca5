package diffusion

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

// builtins are configurations of the real architecture that need no files. They have random weights, the built-in
// tokenizer, and sizes that can be divided for TP 1, 2 and 4. small has more than 100 million parameters.
var builtins = map[string]map[string]string{
	"z-image-tiny": {
		"transformer": `{"all_patch_size": [2], "all_f_patch_size": [1], "in_channels": 16, "dim": 128, "n_layers": 2,
			"n_refiner_layers": 1, "n_heads": 4, "n_kv_heads": 4, "axes_dims": [8, 12, 12], "axes_lens": [512, 64, 64],
			"cap_feat_dim": 64, "norm_eps": 1e-5, "qk_norm": true, "rope_theta": 256.0, "t_scale": 1000.0}`,
		"text_encoder": `{"model_type": "qwen3", "dtype": "bfloat16", "vocab_size": 512, "hidden_size": 64,
			"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16,
			"intermediate_size": 192, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0}`,
		"vae": `{"block_out_channels": [32, 32, 64], "layers_per_block": 1, "norm_num_groups": 32, "latent_channels": 16,
			"out_channels": 3, "scaling_factor": 0.3611, "shift_factor": 0.1159, "use_post_quant_conv": false}`,
		"scheduler": `{"num_train_timesteps": 1000, "shift": 3.0, "use_dynamic_shifting": false}`,
	},
	"z-image-small": {
		"transformer": `{"all_patch_size": [2], "all_f_patch_size": [1], "in_channels": 16, "dim": 768, "n_layers": 10,
			"n_refiner_layers": 2, "n_heads": 12, "n_kv_heads": 12, "axes_dims": [16, 24, 24], "axes_lens": [1024, 256, 256],
			"cap_feat_dim": 256, "norm_eps": 1e-5, "qk_norm": true, "rope_theta": 256.0, "t_scale": 1000.0}`,
		"text_encoder": `{"model_type": "qwen3", "dtype": "bfloat16", "vocab_size": 512, "hidden_size": 256,
			"num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32,
			"intermediate_size": 768, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0}`,
		"vae": `{"block_out_channels": [64, 64, 128], "layers_per_block": 2, "norm_num_groups": 32, "latent_channels": 16,
			"out_channels": 3, "scaling_factor": 0.3611, "shift_factor": 0.1159, "use_post_quant_conv": false}`,
		"scheduler": `{"num_train_timesteps": 1000, "shift": 3.0, "use_dynamic_shifting": false}`,
	},
}

// Builtins lists the names of the built-in pipelines, sorted.
func Builtins() []string { return slices.Sorted(maps.Keys(builtins)) }

// isBuiltin reports whether a model path names a built-in pipeline.
func isBuiltin(path string) bool {
	return builtins[strings.TrimPrefix(path, model.BuiltinPrefix)] != nil
}

// builtin returns a built-in configuration by its name.
func builtin(name string) (*Config, error) {
	parts := builtins[strings.TrimPrefix(name, model.BuiltinPrefix)]
	if parts == nil {
		return nil, fmt.Errorf("no built-in pipeline %q; choose from %s", name, strings.Join(Builtins(), ", "))
	}
	files := map[string][]byte{}
	for part, text := range parts {
		files[part] = []byte(text)
	}
	c := &Config{Pipeline: pipelines[0], Default: turbo}
	c.Default.Width, c.Default.Height = 128, 128 // a size that a few cores can generate
	if err := c.parse(files); err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return c, nil
}

package torch

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// sizeKeys are the keys of a config.json that are kept. Other files of this name may hold secrets.
var sizeKeys = []string{
	"model_type", "architectures", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
	"tie_word_embeddings", "attention_bias", "sliding_window", "use_sliding_window", "max_window_layers", "layer_types", "num_experts", "num_local_experts",
	"num_experts_per_tok", "experts_per_token", "moe_intermediate_size", "shared_expert_intermediate_size", "decoder_sparse_step", "mlp_only_layers", "torch_dtype",
	"dtype", "quantization_config",
}

// sizes returns the sizes in a config.json; nil: it is no model's.
func sizes(text []byte) []byte {
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	if kind, ok := all["model_type"].(string); !ok || kind == "" {
		return nil
	}
	keep := func(from map[string]any) map[string]any {
		out := map[string]any{}
		for _, key := range sizeKeys {
			if v, ok := from[key]; ok {
				out[key] = v
			}
		}
		return out
	}
	kept := keep(all)
	if inner, ok := all["text_config"].(map[string]any); ok {
		kept["text_config"] = keep(inner)
	}
	out, _ := json.Marshal(kept) // cannot fail: it was JSON
	return out
}

// mostConfig is the maximum size of a config.json, in bytes.
const mostConfig = 4 << 20

// modelConfig returns the config.json of the server's model, from which the work of its steps follows. It returns nil if
// the server runs on another host and commands do not run there, if its model is in no directory of that host, or if the
// file is no model's.
func (m *member) modelConfig(ctx context.Context) []byte {
	read := func(dir string) ([]byte, error) {
		return atomicfile.ReadAtMost(filepath.Join(dir, "config.json"), mostConfig)
	}
	if m.o.Fetch.Inside() {
		read = func(dir string) ([]byte, error) { return m.command(dir).Read(ctx, "config.json", mostConfig) }
	} else if !here(ctx, m.URL) {
		return nil
	}
	var args struct {
		Model string `json:"model_path"`
	}
	json.Unmarshal(m.raw, &args) // without a path, the list of models has it
	if args.Model == "" {
		var list wire.ModelList
		if !m.askFor(ctx, "/v1/models", &list) || len(list.Data) == 0 {
			return nil
		}
		args.Model = list.Data[0].Root
	}
	for _, dir := range []string{args.Model, snapshot(args.Model)} {
		if !filepath.IsAbs(dir) {
			continue
		}
		text, err := read(dir)
		if err != nil {
			continue
		}
		if text = sizes(text); text != nil {
			return text
		}
	}
	return nil
}

// snapshot returns the directory of the main revision of a model in the cache of Hugging Face; "": it is not there.
func snapshot(id string) string {
	org, name, ok := strings.Cut(id, "/")
	if !ok || org == "" || strings.Contains(name, "/") || strings.Contains(id, "..") {
		return ""
	}
	home := os.Getenv("HF_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".cache", "huggingface")
	}
	dir := filepath.Join(home, "hub", "models--"+org+"--"+name)
	revision, err := os.ReadFile(filepath.Join(dir, "refs", "main"))
	if err != nil || !filepath.IsLocal(strings.TrimSpace(string(revision))) {
		return ""
	}
	return filepath.Join(dir, "snapshots", strings.TrimSpace(string(revision)))
}

package model

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

func TestOpen(t *testing.T) {
	cases := []struct {
		path      string
		dummy     bool
		overrides string
		random    bool
		want      string // of the error
	}{
		{path: "builtin:llama-tiny", random: true},
		{path: "builtin:nothing", want: `no built-in model "builtin:nothing"`},
		{path: "testdata/qwen3"},
		{path: "testdata/qwen3", dummy: true, random: true},
		{path: "testdata/qwen3", dummy: true, overrides: `{"num_hidden_layers": 40}`, random: true},
		{path: "testdata/qwen3", overrides: `{"num_hidden_layers": 3}`, want: `testdata/qwen3: tensor "model.layers.2.`},
		{path: "testdata/qwen3", overrides: `{"architectures": ["LlamaForCausalLM"]}`, want: `_norm.weight" has no place in LlamaForCausalLM`},
		{path: "meta-llama/Llama-3.1-8B", want: `model path "meta-llama/Llama-3.1-8B" is not a directory; give a local`},
		{path: "testdata", want: "config.json"},
	}
	for _, c := range cases {
		cfg, src, closeSource, err := Open(c.path, c.dummy, []byte(c.overrides))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s: %v; want %s", c.path, c.overrides, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.path, c.overrides, err)
			continue
		}
		if _, random := src.(*hf.Dummy); random != c.random {
			t.Errorf("%s: random weights: %t, want %t", c.path, random, c.random)
		}
		if err := cfg.CheckSource(src); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		if err := closeSource(); err != nil {
			t.Errorf("%s: close: %v", c.path, err)
		}
	}
}

package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// TestMarkers checks that the texts are those of SGLang's hooks, with the sizes of the rank's shard.
func TestMarkers(t *testing.T) {
	for _, tt := range []struct {
		name, model, overrides string
		layout                 layout
		rank, rows             int
		module                 func(*modules) *module
		want                   string
	}{
		{"the network without its head", "llama-tiny", "", layout{}, 0, 7, func(m *modules) *module { return &m.model },
			`{'Module': 'model.model', 'Inputs': [[7], [7]]}`},
		{"a part of the vocabulary", "llama-tiny", "", layout{tp: 2}, 1, 7, func(m *modules) *module { return &m.embed },
			`{'Module': 'model.model.embed_tokens', 'TrainableParams': {'weight': [256, 256]}, 'Inputs': [[7]]}`},
		{"the first layer adds nothing to the residual stream", "llama-tiny", "", layout{}, 0, 7,
			func(m *modules) *module { return &m.layers[0].layer }, `{'Module': 'model.model.layers.0', 'Inputs': [[7], [7, 256]]}`},
		{"later ones do", "llama-tiny", "", layout{}, 0, 1, func(m *modules) *module { return &m.layers[1].layer },
			`{'Module': 'model.model.layers.1', 'Inputs': [[1], [1, 256], [1, 256]]}`},
		{"layers of a later stage have their number in the model", "llama-tiny", "", layout{pp: 2}, 1, 3,
			func(m *modules) *module { return &m.layers[0].inputNorm },
			`{'Module': 'model.model.layers.2.input_layernorm', 'TrainableParams': {'weight': [256]}, 'Inputs': [[3, 256]]}`},
		{"keyword arguments are not visible", "llama-tiny", "", layout{}, 0, 7, func(m *modules) *module { return &m.layers[0].selfAttn },
			`{'Module': 'model.model.layers.0.self_attn'}`},
		{"rows of four query heads and two times two KV heads of 32", "llama-tiny", "", layout{tp: 2}, 0, 7,
			func(m *modules) *module { return &m.layers[0].qkv },
			`{'Module': 'model.model.layers.0.self_attn.qkv_proj', 'TrainableParams': {'weight': [256, 256]}, 'Inputs': [[7, 256]]}`},
		{"a bias", "llama-tiny", `{"attention_bias": true}`, layout{tp: 2}, 1, 7, func(m *modules) *module { return &m.layers[0].qkv },
			`{'Module': 'model.model.layers.0.self_attn.qkv_proj', 'TrainableParams': {'weight': [256, 256], 'bias': [256]}, 'Inputs': [[7, 256]]}`},
		{"no parameters", "llama-tiny", "", layout{tp: 2}, 0, 7, func(m *modules) *module { return &m.layers[0].rotary },
			`{'Module': 'model.model.layers.0.self_attn.rotary_emb', 'Inputs': [[7], [7, 128], [7, 64]]}`},
		{"queries, keys, values", "llama-tiny", "", layout{tp: 2}, 0, 7, func(m *modules) *module { return &m.layers[0].attn },
			`{'Module': 'model.model.layers.0.self_attn.attn', 'Inputs': [[7, 128], [7, 64], [7, 64]]}`},
		{"columns", "llama-tiny", "", layout{tp: 2}, 0, 7, func(m *modules) *module { return &m.layers[0].down },
			`{'Module': 'model.model.layers.0.mlp.down_proj', 'TrainableParams': {'weight': [256, 384]}, 'Inputs': [[7, 384]]}`},
		{"no module owns the head's parameter", "llama-tiny", "", layout{tp: 2}, 0, 7, func(m *modules) *module { return &m.logits },
			`{'Module': 'model.logits_processor', 'Inputs': [[7], [7, 256]]}`},
		{"a router", "qwen3-moe-tiny", "", layout{tp: 2, ep: 2}, 0, 7, func(m *modules) *module { return &m.layers[0].topK },
			`{'Module': 'model.model.layers.0.mlp.topk', 'Inputs': [[7, 256], [7, 8]]}`},
		{"half of the experts, and a tuple of tensors", "qwen3-moe-tiny", `{"moe_intermediate_size": 96}`, layout{tp: 2, ep: 2}, 1, 7,
			func(m *modules) *module { return &m.layers[0].experts },
			`{'Module': 'model.model.layers.0.mlp.experts', 'TrainableParams': {'w13_weight': [4, 192, 256], 'w2_weight': [4, 256, 96]}, ` +
				`'Inputs': [[7, 256], [7, 2], [7, 2], [7, 8]]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := mustConfig(t, tt.model, tt.overrides)
			j := newJob(t, cfg, NewDummy(cfg, 1), tt.layout, Options{NumBlocks: 1, Markers: true}, device.Options{})
			if got := tt.module(&j.ranks[tt.rank].mod).marker(tt.rows); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// outline draws the ranges that a device receives: the path of each, indented by its depth.
type outline struct {
	depth int
	lines []string
}

func (o *outline) Bind(string) {}
func (o *outline) Pop()        { o.depth-- }
func (o *outline) Push(text string) {
	_, path, _ := strings.Cut(text, "'Module': 'model.")
	path, _, _ = strings.Cut(path, "'")
	o.lines = append(o.lines, strings.Repeat("  ", o.depth)+path)
	o.depth++
}

// take returns the lines so far and starts over.
func (o *outline) take(t *testing.T) string {
	if o.depth != 0 {
		t.Errorf("%d ranges stay open", o.depth)
	}
	text := "\n" + strings.Join(o.lines, "\n") + "\n"
	o.lines = nil
	return text
}

// TestMarkersNest checks that ranges nest as calls do, that a graph has its own when it is captured and none when it is
// replayed, and that the recorder sees the same ones.
func TestMarkersNest(t *testing.T) {
	cfg := mustConfig(t, "qwen3-moe-tiny", `{"num_hidden_layers": 2, "mlp_only_layers": [1]}`)
	marks := &outline{}
	opt := Options{NumBlocks: 2, MaxTokens: 8, MaxSeqs: 1, Markers: true}
	j := newJob(t, cfg, NewDummy(cfg, 1), layout{}, opt, device.Options{Marks: marks})
	blocks := j.blocks(1)
	const network = `
model
  model.embed_tokens
  model.layers.0
    model.layers.0.input_layernorm
    model.layers.0.self_attn
      model.layers.0.self_attn.qkv_proj
      model.layers.0.self_attn.rotary_emb
      model.layers.0.self_attn.attn
      model.layers.0.self_attn.o_proj
    model.layers.0.post_attention_layernorm
    model.layers.0.mlp
      model.layers.0.mlp.gate
      model.layers.0.mlp.topk
      model.layers.0.mlp.experts
  model.layers.1
    model.layers.1.input_layernorm
    model.layers.1.self_attn
      model.layers.1.self_attn.qkv_proj
      model.layers.1.self_attn.rotary_emb
      model.layers.1.self_attn.attn
      model.layers.1.self_attn.o_proj
    model.layers.1.post_attention_layernorm
    model.layers.1.mlp
      model.layers.1.mlp.gate_up_proj
      model.layers.1.mlp.act_fn
      model.layers.1.mlp.down_proj
  model.norm
logits_processor
`
	decode := func(at int) {
		j.forward(t, &Batch{Mode: Decode, Seqs: []Seq{{Tokens: []int32{4}, Start: at, Blocks: blocks}}})
	}

	dev := j.ranks[0].dev
	if err := dev.StartRecording(device.RecordOptions{CPU: true, GPU: true}); err != nil {
		t.Fatal(err)
	}
	j.forward(t, &Batch{Seqs: []Seq{{Tokens: []int32{1, 2, 3}, Blocks: blocks}}})
	recorded := events(t, dev.StopRecording())
	if got := marks.take(t); got != network {
		t.Errorf("a prefill:%swant:%s", got, network)
	}
	qkv := "{'Module': 'model.model.layers.1.self_attn.qkv_proj', 'TrainableParams': {'weight': [512, 256]}, 'Inputs': [[3, 256]]}"
	for _, cat := range []string{"user_annotation", "gpu_user_annotation"} {
		if !slices.Contains(recorded[cat], qkv) {
			t.Errorf("%s of a prefill: %q", cat, recorded[cat])
		}
	}
	decode(3)
	if got := marks.take(t); got != network {
		t.Errorf("a captured decode:%swant:%s", got, network)
	}
	decode(4)
	if got := marks.take(t); got != "\n\n" {
		t.Errorf("a replayed decode:%s", got)
	}
}

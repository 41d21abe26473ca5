package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

// Tensors returns the shape of every tensor in a checkpoint of the architecture, by its Hugging Face name.
func (c *Config) Tensors() map[string][]int {
	m := map[string][]int{
		"model.embed_tokens.weight": {c.Vocab, c.Hidden},
		"model.norm.weight":         {c.Hidden},
	}
	if !c.TiedEmbeddings {
		m["lm_head.weight"] = []int{c.Vocab, c.Hidden}
	}
	for i := range c.Layers {
		c.layerTensors(i, m)
	}
	return m
}

func (c *Config) layerTensors(i int, m map[string][]int) {
	heads, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	add := func(name string, bias bool, shape ...int) {
		name = layerName(i, name)
		m[name+".weight"] = shape
		if bias {
			m[name+".bias"] = shape[:1]
		}
	}
	add("input_layernorm", false, c.Hidden)
	add("post_attention_layernorm", false, c.Hidden)
	add("self_attn.q_proj", c.QKVBias, heads, c.Hidden)
	add("self_attn.k_proj", c.QKVBias, kv, c.Hidden)
	add("self_attn.v_proj", c.QKVBias, kv, c.Hidden)
	add("self_attn.o_proj", c.OBias, c.Hidden, heads)
	if c.QKNorm {
		add("self_attn.q_norm", false, c.HeadDim)
		add("self_attn.k_norm", false, c.HeadDim)
	}
	if !c.HasExperts(i) {
		add("mlp.gate_proj", c.MLPBias, c.Intermediate, c.Hidden)
		add("mlp.up_proj", c.MLPBias, c.Intermediate, c.Hidden)
		add("mlp.down_proj", c.MLPBias, c.Hidden, c.Intermediate)
		return
	}
	add("mlp.gate", false, c.Experts, c.Hidden)
	for e := range c.Experts {
		add(expertName(e)+".gate_proj", false, c.MoEIntermediate, c.Hidden)
		add(expertName(e)+".up_proj", false, c.MoEIntermediate, c.Hidden)
		add(expertName(e)+".down_proj", false, c.Hidden, c.MoEIntermediate)
	}
}

// layerName returns the name of a module of layer i in the checkpoint. In a trace, the annotation around the module has
// the same name.
func layerName(i int, module string) string { return fmt.Sprintf("model.layers.%d.%s", i, module) }

func expertName(e int) string { return fmt.Sprintf("mlp.experts.%d", e) }

// CheckSource returns an error unless src holds exactly the tensors of c, each with the right shape. Additional tensors
// are also errors, because the result would be wrong without warning if a tensor such as a bias were ignored.
func (c *Config) CheckSource(src hf.Source) error {
	want := c.Tensors()
	for _, name := range src.Names() {
		shape, ok := want[name]
		if !ok && !unused(c, name) {
			return fmt.Errorf("tensor %q has no place in %s with this config.json", name, c.Architecture)
		}
		if got, _ := src.Shape(name); ok && !slices.Equal(got, shape) {
			return fmt.Errorf("tensor %q has shape %v; config.json says %v", name, got, shape)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		return fmt.Errorf("tensor %q is missing (and %d more)", slices.Sorted(maps.Keys(want))[0], len(want)-1)
	}
	return nil
}

// unused reports whether a checkpoint may contain the tensor although the tensor is not needed. Such tensors are the
// rotary frequencies in old exports and a head that is tied to the embedding.
func unused(c *Config, name string) bool {
	return strings.HasSuffix(name, ".rotary_emb.inv_freq") || c.TiedEmbeddings && name == "lm_head.weight"
}

// NewDummy returns random weights for c.
func NewDummy(c *Config, seed uint64) *hf.Dummy { return hf.NewDummy(c.Tensors(), seed) }

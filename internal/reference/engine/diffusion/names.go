package diffusion

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
)

// shapes maps the names of tensors in a checkpoint to their sizes, outermost first.
type shapes map[string][]int

// linear adds the tensors of a linear module with a bias.
func (s shapes) linear(name string, out, in int) {
	s[name+".weight"], s[name+".bias"] = []int{out, in}, []int{out}
}

// norm adds the tensors of a norm with one weight for each of n elements, and optionally a bias.
func (s shapes) norm(name string, n int, bias bool) {
	s[name+".weight"] = []int{n}
	if bias {
		s[name+".bias"] = []int{n}
	}
}

// conv adds the tensors of a convolution of k×k.
func (s shapes) conv(name string, out, in, k int) {
	s[name+".weight"], s[name+".bias"] = []int{out, in, k, k}, []int{out}
}

// tensors are the tensors of the transformer.
func (t *Transformer) tensors() shapes {
	s := shapes{}
	patch := fmt.Sprintf(".%d-1", t.Patch)
	s.linear("all_x_embedder"+patch, t.Dim, t.patchDim())
	s.linear("all_final_layer"+patch+".linear", t.patchDim(), t.Dim)
	s.linear("all_final_layer"+patch+".adaLN_modulation.1", t.Dim, t.condDim())
	s.linear("t_embedder.mlp.0", timeHidden, timeFreqs)
	s.linear("t_embedder.mlp.2", t.condDim(), timeHidden)
	s.norm("cap_embedder.0", t.CapDim, false)
	s.linear("cap_embedder.1", t.Dim, t.CapDim)
	s["x_pad_token"], s["cap_pad_token"] = []int{1, t.Dim}, []int{1, t.Dim}
	for i := range t.Refiners {
		t.block(s, fmt.Sprintf("noise_refiner.%d", i), true)
		t.block(s, fmt.Sprintf("context_refiner.%d", i), false)
	}
	for i := range t.Layers {
		t.block(s, fmt.Sprintf("layers.%d", i), true)
	}
	return s
}

// block adds the tensors of one block.
func (t *Transformer) block(s shapes, name string, modulated bool) {
	for _, m := range []string{"to_q", "to_k", "to_v", "to_out.0"} {
		s[name+".attention."+m+".weight"] = []int{t.Dim, t.Dim}
	}
	if t.QKNorm {
		s.norm(name+".attention.norm_q", t.headDim(), false)
		s.norm(name+".attention.norm_k", t.headDim(), false)
	}
	s[name+".feed_forward.w1.weight"] = []int{t.ffn(), t.Dim}
	s[name+".feed_forward.w3.weight"] = []int{t.ffn(), t.Dim}
	s[name+".feed_forward.w2.weight"] = []int{t.Dim, t.ffn()}
	for _, m := range []string{"attention_norm1", "attention_norm2", "ffn_norm1", "ffn_norm2"} {
		s.norm(name+"."+m, t.Dim, false)
	}
	if modulated {
		s.linear(name+".adaLN_modulation.0", 4*t.Dim, t.condDim())
	}
}

// tensors are the tensors of the decoder.
func (v *VAE) tensors() shapes {
	s := shapes{}
	deep := v.Channels[len(v.Channels)-1]
	if v.PostQuant {
		s.conv("post_quant_conv", v.Latent, v.Latent, 1)
	}
	s.conv("decoder.conv_in", deep, v.Latent, 3)
	resnet := func(name string, in, out int) {
		s.norm(name+".norm1", in, true)
		s.conv(name+".conv1", out, in, 3)
		s.norm(name+".norm2", out, true)
		s.conv(name+".conv2", out, out, 3)
		if in != out {
			s.conv(name+".conv_shortcut", out, in, 1)
		}
	}
	resnet("decoder.mid_block.resnets.0", deep, deep)
	resnet("decoder.mid_block.resnets.1", deep, deep)
	if v.MidAttention {
		const at = "decoder.mid_block.attentions.0"
		s.norm(at+".group_norm", deep, true)
		for _, m := range []string{".to_q", ".to_k", ".to_v", ".to_out.0"} {
			s.linear(at+m, deep, deep)
		}
	}
	in := deep
	for i := range v.Channels {
		out := v.Channels[len(v.Channels)-1-i]
		for j := range v.Layers + 1 {
			resnet(fmt.Sprintf("decoder.up_blocks.%d.resnets.%d", i, j), in, out)
			in = out
		}
		if i < len(v.Channels)-1 {
			s.conv(fmt.Sprintf("decoder.up_blocks.%d.upsamplers.0.conv", i), out, out, 3)
		}
	}
	s.norm("decoder.conv_norm_out", in, true)
	s.conv("decoder.conv_out", v.Out, in, 3)
	return s
}

// check returns an error unless src has all tensors of s, each with the right shape. Additional tensors are allowed
// only if unused returns true for them.
func (s shapes) check(src hf.Source, unused func(name string) bool) error {
	left := maps.Clone(s)
	for _, name := range src.Names() {
		want, ok := s[name]
		if !ok {
			if unused(name) {
				continue
			}
			return fmt.Errorf("tensor %q has no place in this configuration", name)
		}
		if got, _ := src.Shape(name); !slices.Equal(got, want) {
			return fmt.Errorf("tensor %q has shape %v; the configuration says %v", name, got, want)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		return fmt.Errorf("tensor %q is missing (and %d more)", slices.Sorted(maps.Keys(left))[0], len(left)-1)
	}
	return nil
}

// encoderHalf reports whether a tensor belongs to the half of the autoencoder that is needed only for image inputs.
func encoderHalf(name string) bool {
	return strings.HasPrefix(name, "encoder.") || strings.HasPrefix(name, "quant_conv.")
}

// Params is the number of parameters of all used parts.
func (c *Config) Params() int64 {
	n := c.Text.Params()
	for _, s := range []shapes{c.Transformer.tensors(), c.VAE.tensors()} {
		for _, shape := range s {
			size := int64(1)
			for _, d := range shape {
				size *= int64(d)
			}
			n += size
		}
	}
	return n
}

package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Annotations follow the modules that SGLang builds from the same checkpoint. Without Options.Markers they cover a
// layer and its four parts, by their names in the checkpoint. With Options.Markers every module call has an annotation.
// The text of such an annotation is the text of SGLang's layer-wise NVTX markers (PytHooks in
// python/sglang/srt/utils/nvtx_pytorch_hooks.py). This text is a Python dict with the module's path, the sizes of the
// module's direct parameters, and the sizes of the tensors passed by position.
//
// For the text encoder of a diffusion pipeline (Options.Component), the texts have the short form of SGLang's
// DiffusionNvtxHooks. These texts contain the stage, the component, the path and, for a batch of one, the sizes of all
// tensors including keyword arguments. The modules that a language model has in "model" are in the root of the encoder
// (multimodal_gen/runtime/models/encoders/qwen3.py, 0.5.23).
//
// Operations that SGLang runs without a module call have no marker here either. The whole network has no marker,
// because ModelRunner calls the network's forward without the hooks. The head has none, because LogitsProcessor uses
// the head's weights directly. The norms of query and key heads have none, because they are one fused kernel.

// module describes a module call for annotations.
type module struct {
	text string // text of the annotation; "": none

	head   string  // text of a marker before the sizes of the inputs; "": text has no sizes of inputs
	inputs []sizes // sizes of the inputs, for the marker
	short  bool    // the marker has the short form for components of diffusion pipelines
	rows   int     // number of rows for which text is valid
}

// sizes are the sizes of a tensor. If the first size is -k, the real size is k times the number of rows of the pass.
type sizes []int

// param is a parameter of a module.
type param struct {
	name string
	sizes
}

// modules are the modules that a rank calls in a pass.
type modules struct {
	model, embed, norm, logits module
	layers                     []layerModules // modules of the stage's layers
}

type layerModules struct {
	layer, inputNorm, selfAttn, qkv, rotary, attn, o, postNorm, mlp module
	gateUp, act, down                                               module // dense feed-forward
	gate, topK, experts                                             module // feed-forward with experts
}

// modules describes the modules of the rank. Sizes are those of the rank's shard.
func (r *Runner) modules() modules {
	h, g := r.cfg.Hidden, r.geo
	rows, hidden := sizes{-1}, sizes{-1, h}
	norm := params("weight", h)
	m := modules{
		model:  r.module("", "model", nil, rows, rows),
		embed:  r.module("model.embed_tokens", "model.embed_tokens", params("weight", g.vocab.Len(), h), rows),
		norm:   r.module("model.norm", "model.norm", norm, hidden, hidden),
		logits: r.module("lm_head", "logits_processor", nil, rows, hidden),
	}
	for i := g.layers.Lo; i < g.layers.Hi; i++ {
		shown := func(name string, own []param, inputs ...sizes) module {
			return r.module(layerName(i, name), layerName(i, name), own, inputs...)
		}
		marked := func(name string, own []param, inputs ...sizes) module {
			return r.module("", layerName(i, name), own, inputs...)
		}
		// The first norm of a stage has one input less, because there is no output of a previous block to add.
		added := []sizes{hidden, hidden}
		if i == g.layers.Lo {
			added = added[:1]
		}
		name := fmt.Sprintf("model.layers.%d", i)
		q, kv := sizes{-1, r.headsWidth}, sizes{-1, g.kv.Len() * r.cfg.HeadDim}
		inAttn, inSelf := []sizes{q, kv, kv}, []sizes(nil) // called with keyword arguments, which hooks do not see
		if r.opt.Component != "" {
			heads := func(width int) sizes { return sizes{-1, width / r.cfg.HeadDim, r.cfg.HeadDim} }
			inAttn, inSelf = []sizes{heads(q[1]), heads(kv[1]), heads(kv[1])}, []sizes{rows, hidden}
		}
		y := layerModules{
			layer:     r.module(name, name, nil, append([]sizes{rows}, added...)...),
			inputNorm: shown("input_layernorm", norm, added...),
			selfAttn:  shown("self_attn", nil, inSelf...),
			qkv:       marked("self_attn.qkv_proj", biased(r.cfg.QKVBias, r.qkvWidth, h), hidden),
			rotary:    marked("self_attn.rotary_emb", nil, rows, q, kv),
			attn:      marked("self_attn.attn", nil, inAttn...),
			o:         marked("self_attn.o_proj", biased(r.cfg.OBias, h, r.headsWidth), q),
			postNorm:  shown("post_attention_layernorm", norm, hidden, hidden),
			mlp:       shown("mlp", nil, hidden),
		}
		if c := r.cfg; c.HasExperts(i) {
			n, width := g.experts.Len(), g.expertFFN.Len()
			logits, picked := sizes{-1, c.Experts}, sizes{-1, c.ExpertsPerToken}
			y.gate = marked("mlp.gate", params("weight", c.Experts, h), hidden)
			y.topK = marked("mlp.topk", nil, hidden, logits)
			y.experts = marked("mlp.experts", []param{{"w13_weight", sizes{n, 2 * width, h}}, {"w2_weight", sizes{n, h, width}}},
				hidden, picked, picked, logits)
		} else {
			width := g.ffn.Len()
			y.gateUp = marked("mlp.gate_up_proj", biased(c.MLPBias, 2*width, h), hidden)
			y.act = marked("mlp.act_fn", nil, sizes{-1, 2 * width})
			y.down = marked("mlp.down_proj", biased(c.MLPBias, h, width), sizes{-1, width})
		}
		m.layers = append(m.layers, y)
	}
	return m
}

func params(name string, dims ...int) []param { return []param{{name, dims}} }

// biased returns the parameters of a linear layer of out × in, with or without a bias.
func biased(bias bool, out, in int) []param {
	p := params("weight", out, in)
	if bias {
		p = append(p, param{"bias", sizes{out}})
	}
	return p
}

// module describes a module. plain is the text of the annotation without markers. path is the module's path in the
// network.
func (r *Runner) module(plain, path string, own []param, inputs ...sizes) module {
	if !r.opt.Markers {
		return module{text: plain}
	}
	if c := r.opt.Component; c != "" {
		if path = strings.TrimPrefix(path+".", "model."); path != "" {
			c += "." + strings.TrimSuffix(path, ".")
		}
		return module{head: c, inputs: inputs, short: true}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{'Module': 'model.%s'", path)
	for i, p := range own {
		b.WriteString([]string{", 'TrainableParams': {", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "'%s': %s", p.name, p.append(nil, 0))
	}
	if len(own) > 0 {
		b.WriteByte('}')
	}
	return module{head: b.String(), inputs: inputs}
}

// marker returns the text of the marker of a call with the given number of rows.
func (m *module) marker(rows int) string {
	b, begin, end := []byte(m.head), ", 'Inputs': [", "}"
	if m.short {
		begin, end = " in=[", ""
	}
	for i, s := range m.inputs {
		b = append(b, []string{begin, ", "}[min(i, 1)]...)
		if m.short {
			s = append(sizes{1}, s...)
		}
		b = s.append(b, rows)
	}
	if len(m.inputs) > 0 {
		b = append(b, ']')
	}
	return string(append(b, end...))
}

// append appends the sizes as a Python list.
func (s sizes) append(b []byte, rows int) []byte {
	b = append(b, '[')
	for i, n := range s {
		if i > 0 {
			b = append(b, ", "...)
		}
		if n < 0 {
			n *= -rows
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// enter begins the annotation of a call of m. leave ends it.
func (p *pass) enter(m *module) {
	if m.head != "" && m.rows != p.n {
		m.rows, m.text = p.n, m.marker(p.n)
	}
	if m.text != "" {
		p.r.dev.Host().Annotate(m.text)
	}
}

// leave ends the annotation of m.
func (p *pass) leave(m *module) {
	if m.text != "" {
		p.r.dev.Host().End()
	}
}

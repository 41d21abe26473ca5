package model

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// weights are a rank's share of the model's weights. Weights are split while they are packed, so a rank reads only its
// own rows and columns.
type weights struct {
	embed  *embedding // on the first stage only
	layers []layer    // layers of the stage
	norm   []float32  // on the last stage only
	head   op.Linear  // on the last stage only; the rows are the rank's part of the vocabulary
}

// embedding holds the rank's rows of the token table, as float32 or, for the bf16 formats, as bf16, which needs half
// the memory. If the embedding is tied to the head, row reads the packed head instead.
type embedding struct {
	rows op.Span // range of tokens in the vocabulary
	f32  []float32
	bf16 []uint16
	tied *tensor.Matrix
}

// row writes the embedding of a token to dst. If another rank has the embedding, row writes zeros.
func (e *embedding) row(token int, dst []float32) {
	if token < e.rows.Lo || token >= e.rows.Hi {
		clear(dst)
		return
	}
	i, n := token-e.rows.Lo, len(dst)
	switch {
	case e.tied != nil:
		e.tied.Row(i, dst)
	case e.f32 != nil:
		copy(dst, e.f32[i*n:])
	default:
		tensor.DecodeBF16(dst, e.bf16[i*n:][:n])
	}
}

// layer is one decoder layer. qkv has the rows of the rank's query heads, key heads and value heads, in that order.
type layer struct {
	inputNorm    []float32
	postNorm     []float32
	qkv, o       op.Linear
	qNorm, kNorm []float32 // nil: none
	ffn          expert    // dense feed-forward
	router       op.Linear // only with experts; every rank has all rows
	experts      []expert  // the experts on this rank
}

// expert is a SwiGLU feed-forward: gateUp contains the rows of gate, followed by the rows of up.
type expert struct{ gateUp, down op.Linear }

// loader reads a rank's share of the model.
type loader struct {
	op.Loader
	c *Config
	g *geometry
}

func loadWeights(c *Config, g *geometry, src hf.Source, format tensor.Format) (*weights, error) {
	l := &loader{Loader: op.Loader{Src: src, Format: format}, c: c, g: g}
	w := &weights{}
	if g.last() {
		w.norm = l.Vector("model.norm.weight", c.Hidden)
		name := "lm_head"
		if c.TiedEmbeddings {
			name = "model.embed_tokens"
		}
		w.head = l.Rows(op.RowsOf{Module: name, Rows: g.vocab})
	}
	if g.first() {
		w.embed = l.embedding(w.head.Matrix)
	}
	if l.Err != nil {
		return nil, fmt.Errorf("load weights: %w", l.Err)
	}
	w.layers = make([]layer, g.layers.Len())
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range w.layers {
		group.Go(func() error {
			own := *l
			w.layers[i] = own.layer(g.layers.Lo + i)
			return own.Err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("load weights: %w", err)
	}
	return w, nil
}

func (l *loader) embedding(head *tensor.Matrix) *embedding {
	e := &embedding{rows: l.g.vocab}
	n, h := l.g.vocab.Len(), l.c.Hidden
	switch {
	case l.c.TiedEmbeddings && head != nil:
		e.tied = head
	case l.Format == tensor.F32:
		e.f32 = make([]float32, n*h)
		l.Read("model.embed_tokens.weight", e.rows.Lo*h, e.f32)
	default:
		e.bf16 = make([]uint16, n*h)
		row := make([]float32, h)
		for i := range n {
			l.Read("model.embed_tokens.weight", (e.rows.Lo+i)*h, row)
			tensor.EncodeBF16(e.bf16[i*h:], row)
		}
	}
	return e
}

func (l *loader) layer(i int) layer {
	c, g := l.c, l.g
	name := func(module string) string { return layerName(i, module) }
	headRows := func(s op.Span) op.Span { return op.Span{Lo: s.Lo * c.HeadDim, Hi: s.Hi * c.HeadDim} }
	y := layer{
		inputNorm: l.Vector(name("input_layernorm.weight"), c.Hidden),
		postNorm:  l.Vector(name("post_attention_layernorm.weight"), c.Hidden),
		qkv: l.Rows(
			op.RowsOf{Module: name("self_attn.q_proj"), Rows: headRows(g.heads)},
			op.RowsOf{Module: name("self_attn.k_proj"), Rows: headRows(g.kv)},
			op.RowsOf{Module: name("self_attn.v_proj"), Rows: headRows(g.kv)}),
		o: l.Columns(name("self_attn.o_proj"), headRows(g.heads), g.TPRank == 0),
	}
	if c.QKNorm {
		y.qNorm = l.Vector(name("self_attn.q_norm.weight"), c.HeadDim)
		y.kNorm = l.Vector(name("self_attn.k_norm.weight"), c.HeadDim)
	}
	if !c.HasExperts(i) {
		y.ffn = l.expert(name("mlp"), g.ffn)
		return y
	}
	// The router's weights are float32 in every format, so that the choice of experts does not depend on the format.
	format := l.Format
	l.Format = tensor.F32
	y.router = l.Rows(op.RowsOf{Module: name("mlp.gate"), Rows: op.Span{Lo: 0, Hi: c.Experts}})
	l.Format = format
	for e := g.experts.Lo; e < g.experts.Hi; e++ {
		y.experts = append(y.experts, l.expert(name(expertName(e)), g.expertFFN))
	}
	return y
}

func (l *loader) expert(name string, width op.Span) expert {
	return expert{
		gateUp: l.Rows(op.RowsOf{Module: name + ".gate_proj", Rows: width}, op.RowsOf{Module: name + ".up_proj", Rows: width}),
		down:   l.Columns(name+".down_proj", width, l.g.TPRank == 0),
	}
}

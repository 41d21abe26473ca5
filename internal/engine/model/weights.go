package model

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/stepscope/stepscope/internal/engine/hf"
	"github.com/stepscope/stepscope/internal/engine/op"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// weights are a rank's share. Packing doubles as the cut: only the rows and columns that the rank owns are read.
type weights struct {
	embed  *embedding // first stage
	layers []layer    // of the stage
	norm   []float32  // last stage
	head   op.Linear  // last stage; rows are the rank's part of the vocabulary
}

// embedding is the rank's rows of the token table, as float32 or, for the bf16 formats, half as large. A tied one is
// looked up in the packed head instead.
type embedding struct {
	rows op.Span // of the vocabulary
	f32  []float32
	bf16 []uint16
	tied *tensor.Matrix
}

// row writes the embedding of a token to dst, zeros if another rank has it.
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
	ffn          expert    // dense
	router       op.Linear // experts; all of them, on every rank
	experts      []expert  // the rank's
}

// expert is a SwiGLU feed-forward: gateUp has the rows of gate, then those of up.
type expert struct{ gateUp, down op.Linear }

// loader reads tensors, on one goroutine; the first error stays.
type loader struct {
	c      *Config
	g      *geometry
	src    hf.Source
	format tensor.Format
	err    error
}

func loadWeights(c *Config, g *geometry, src hf.Source, format tensor.Format) (*weights, error) {
	l := &loader{c: c, g: g, src: src, format: format}
	w := &weights{}
	if g.last() {
		w.norm = l.vector("model.norm.weight", c.Hidden)
		name := "lm_head"
		if c.TiedEmbeddings {
			name = "model.embed_tokens"
		}
		w.head = l.rows(rowsOf{name, g.vocab})
	}
	if g.first() {
		w.embed = l.embedding(w.head.Matrix)
	}
	if l.err != nil {
		return nil, fmt.Errorf("load weights: %w", l.err)
	}
	w.layers = make([]layer, g.layers.Len())
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range w.layers {
		group.Go(func() error {
			own := *l
			w.layers[i] = own.layer(g.layers.Lo + i)
			return own.err
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
	case l.format == tensor.F32:
		e.f32 = make([]float32, n*h)
		l.read("model.embed_tokens.weight", e.rows.Lo*h, e.f32)
	default:
		e.bf16 = make([]uint16, n*h)
		row := make([]float32, h)
		for i := range n {
			l.read("model.embed_tokens.weight", (e.rows.Lo+i)*h, row)
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
		inputNorm: l.vector(name("input_layernorm.weight"), c.Hidden),
		postNorm:  l.vector(name("post_attention_layernorm.weight"), c.Hidden),
		qkv: l.rows(
			rowsOf{name("self_attn.q_proj"), headRows(g.heads)},
			rowsOf{name("self_attn.k_proj"), headRows(g.kv)},
			rowsOf{name("self_attn.v_proj"), headRows(g.kv)}),
		o: l.columns(name("self_attn.o_proj"), headRows(g.heads), g.TPRank == 0),
	}
	if c.QKNorm {
		y.qNorm = l.vector(name("self_attn.q_norm.weight"), c.HeadDim)
		y.kNorm = l.vector(name("self_attn.k_norm.weight"), c.HeadDim)
	}
	if !c.HasExperts(i) {
		y.ffn = l.expert(name("mlp"), g.ffn)
		return y
	}
	// The router picks experts: float32 keeps ranks and formats of one mind.
	format := l.format
	l.format = tensor.F32
	y.router = l.rows(rowsOf{name("mlp.gate"), op.Span{Lo: 0, Hi: c.Experts}})
	l.format = format
	for e := g.experts.Lo; e < g.experts.Hi; e++ {
		y.experts = append(y.experts, l.expert(name(expertName(e)), g.expertFFN))
	}
	return y
}

func (l *loader) expert(name string, width op.Span) expert {
	return expert{
		gateUp: l.rows(rowsOf{name + ".gate_proj", width}, rowsOf{name + ".up_proj", width}),
		down:   l.columns(name+".down_proj", width, l.g.TPRank == 0),
	}
}

// rowsOf is some rows of a module's weight and bias.
type rowsOf struct {
	module string
	rows   op.Span
}

// rows packs the given rows of one or more modules of equal input, one after the other.
func (l *loader) rows(parts ...rowsOf) op.Linear {
	n, cols := 0, 0
	for _, p := range parts {
		n += p.rows.Len()
		cols = l.columnsOf(p.module)
	}
	if l.err != nil {
		return op.Linear{}
	}
	var bias []float32
	for _, p := range parts {
		if _, ok := l.src.Shape(p.module + ".bias"); ok {
			b := make([]float32, p.rows.Len())
			l.read(p.module+".bias", p.rows.Lo, b)
			bias = append(bias, b...)
		}
	}
	p, at := 0, 0 // the part that row r is of, and its first row
	return op.Linear{Bias: bias, Matrix: tensor.Pack(n, cols, l.format, func(r int, dst []float32) {
		for r-at >= parts[p].rows.Len() {
			at += parts[p].rows.Len()
			p++
		}
		l.read(parts[p].module+".weight", (parts[p].rows.Lo+r-at)*cols, dst)
	})}
}

// columnsOf returns the width of a module's weight.
func (l *loader) columnsOf(module string) int {
	shape, ok := l.src.Shape(module + ".weight")
	if !ok || len(shape) != 2 {
		l.fail(fmt.Errorf("no matrix %q", module+".weight"))
		return 0
	}
	return shape[1]
}

// columns packs some columns of a module: its output is a summand of the whole, so one rank alone adds the bias.
func (l *loader) columns(module string, cols op.Span, addBias bool) op.Linear {
	width := l.columnsOf(module)
	if l.err != nil {
		return op.Linear{}
	}
	y := op.Linear{Matrix: tensor.Pack(l.c.Hidden, cols.Len(), l.format, func(r int, dst []float32) {
		l.read(module+".weight", r*width+cols.Lo, dst)
	})}
	if _, ok := l.src.Shape(module + ".bias"); ok && addBias {
		y.Bias = l.vector(module+".bias", l.c.Hidden)
	}
	return y
}

func (l *loader) vector(name string, n int) []float32 {
	v := make([]float32, n)
	l.read(name, 0, v)
	return v
}

func (l *loader) read(name string, off int, dst []float32) {
	if l.err == nil {
		l.fail(l.src.Read(name, off, dst))
	}
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

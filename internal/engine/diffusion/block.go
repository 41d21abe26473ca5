package diffusion

import (
	"math"

	"github.com/stepscope/stepscope/internal/engine/device"
	"github.com/stepscope/stepscope/internal/engine/op"
	"github.com/stepscope/stepscope/internal/engine/tensor"
)

// block is one layer of the transformer, or a rank's part of it.
type block struct {
	name         string
	mod          op.Linear // of the condition to two scales and two gates; no matrix: not modulated
	norms        [4][]float32
	qkv, o       op.Linear
	normQ, normK []float32 // nil: none
	w13, w2      op.Linear
}

// The norms of a block, in the order in which they are met.
const (
	beforeAttention = iota
	afterAttention
	beforeFFN
	afterFFN
)

// pairs reorders the elements of a head so that those turned against each other, neighbours in the checkpoint, stand half
// a head apart, as tensor.Rope has them. Queries and keys are reordered alike, so their products stay.
func pairs(place, headDim int) int {
	head, at, half := place/headDim*headDim, place%headDim, headDim/2
	if at < half {
		return head + 2*at
	}
	return head + 2*(at-half) + 1
}

// loadBlock reads the rank's share of a block.
func (d *dit) loadBlock(l *op.Loader, name string, modulated bool) block {
	t, hd := d.cfg, d.cfg.HeadDim()
	heads := op.Span{Lo: d.heads.Lo * hd, Hi: d.heads.Hi * hd}
	order := func(row int) int { return pairs(row, hd) }
	first := d.rank == 0
	b := block{
		name: name,
		qkv: l.Rows(
			op.RowsOf{Module: name + ".attention.to_q", Rows: heads, Order: order},
			op.RowsOf{Module: name + ".attention.to_k", Rows: heads, Order: order},
			op.RowsOf{Module: name + ".attention.to_v", Rows: heads}),
		o: l.Columns(name+".attention.to_out.0", heads, first),
		w13: l.Rows(
			op.RowsOf{Module: name + ".feed_forward.w1", Rows: d.ffn},
			op.RowsOf{Module: name + ".feed_forward.w3", Rows: d.ffn}),
		w2: l.Columns(name+".feed_forward.w2", d.ffn, first),
	}
	for i, m := range []string{".attention_norm1", ".attention_norm2", ".ffn_norm1", ".ffn_norm2"} {
		b.norms[i] = l.Vector(name+m+".weight", t.Dim)
	}
	if t.QKNorm {
		b.normQ = headNorm(l, name+".attention.norm_q.weight", hd)
		b.normK = headNorm(l, name+".attention.norm_k.weight", hd)
	}
	if modulated {
		b.mod = l.All(name + ".adaLN_modulation.0")
	}
	return b
}

func headNorm(l *op.Loader, name string, hd int) []float32 {
	w, v := l.Vector(name, hd), make([]float32, hd)
	for i := range v {
		v[i] = w[pairs(i, hd)]
	}
	return v
}

// run sends rows of x through a block: x[lo:hi] += gate·norm(attention(norm(x)·scale)), and likewise with the
// feed-forward. Scales and gates are the same for all rows, so they are multiplied into the norms' weights.
func (p *ditPass) run(b *block, rows op.Span) {
	d, t := p.d, p.d.cfg
	n, dim := rows.Len(), t.Dim
	x, h := p.x[rows.Lo*dim:rows.Hi*dim], p.h[:n*dim]
	p.enter(b.name, n, dim)
	defer p.leave()
	norms := b.norms
	if b.mod.Matrix != nil {
		norms = p.modulate(b)
	}
	d.RMSNorm(h, x, nil, norms[beforeAttention], dim, n, t.NormEps)
	p.enter(b.name+".attention", n, dim)
	p.attend(b, h, rows)
	p.leave()
	p.addNorm(x, h, norms[afterAttention], n)
	d.RMSNorm(h, x, nil, norms[beforeFFN], dim, n, t.NormEps)
	p.enter(b.name+".feed_forward", n, dim)
	width := d.ffn.Len()
	p.linear(p.gateUp, 2*width, b.w13, h, dim, n, b.name, ".feed_forward.w13")
	d.SiLUMul(p.act, p.gateUp, width, n, func() int { return n })
	p.linear(h, dim, b.w2, p.act, width, n, b.name, ".feed_forward.w2")
	d.reduce(h)
	p.leave()
	p.addNorm(x, h, norms[afterFFN], n)
}

// linear is a product as a module of its own.
func (p *ditPass) linear(y []float32, ldy int, w op.Linear, x []float32, ldx, n int, block, module string) {
	if p.markers {
		p.enter(block+module, n, ldx)
		defer p.leave()
	}
	p.d.Linear(y, ldy, w, x, ldx, n)
}

// modulate computes the norms' weights of a block under the condition.
func (p *ditPass) modulate(b *block) [4][]float32 {
	d, dim := p.d, p.d.cfg.Dim
	p.linear(p.mod, 4*dim, b.mod, p.cond, len(p.cond), 1, b.name, ".adaLN_modulation.0")
	var out [4][]float32
	for i := range out {
		out[i] = p.norms[i*dim:][:dim]
	}
	// In the checkpoint: scale and gate of the attention, scale and gate of the feed-forward, as the norms come.
	d.Launch(device.Kernel{
		Name: "vectorized_elementwise_kernel_modulate", Op: "aten::mul", Grid: op.Grid(4, 1), Args: []device.Arg{op.Floats(4, dim)},
	}, 1, func(int) {
		for i := range out {
			for j, m := range p.mod[i*dim:][:dim] {
				if i == afterAttention || i == afterFFN {
					out[i][j] = b.norms[i][j] * float32(math.Tanh(float64(m)))
				} else {
					out[i][j] = b.norms[i][j] * (1 + m)
				}
			}
		}
	})
	return out
}

// addNorm launches x += RMSNorm(h) for n rows; h is overwritten.
func (p *ditPass) addNorm(x, h, weight []float32, n int) {
	dim, eps := p.d.cfg.Dim, float32(p.d.cfg.NormEps)
	p.d.Each(device.Kernel{
		Name: "RMSNormAddKernel", Op: "sgl_kernel::rmsnorm", Args: []device.Arg{op.Floats(n, dim), op.Floats(dim)},
	}, n, 5*dim, func(rows op.Span) {
		for i := rows.Lo; i < rows.Hi; i++ {
			row, add := x[i*dim:][:dim], h[i*dim:][:dim]
			tensor.RMSNorm(add, add, weight, eps)
			tensor.Add(row, row, add)
		}
	})
}

// reduce sums over the tensor-parallel group.
func (d *dit) reduce(buf []float32) {
	if d.group != nil {
		d.Stream.AllReduce(d.group, buf)
	}
}

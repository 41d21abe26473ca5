package diffusion

import (
	"math"

	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// block is one layer of the transformer, or a rank's part of it.
type block struct {
	name         string
	mod          op.Linear // maps the condition to two scales and two gates; no matrix: no modulation
	norms        [4][]float32
	qkv, o       op.Linear
	normQ, normK []float32 // nil: none
	w13, w2      op.Linear
}

// The norms of a block, in order of use.
const (
	beforeAttention = iota
	afterAttention
	beforeFFN
	afterFFN
)

// pairs reorders the elements of a head. Two elements that are rotated together are neighbours in the checkpoint, but
// tensor.Rope needs such elements half a head apart. Queries and keys are reordered in the same way, so their products
// are unchanged.
func pairs(place, headDim int) int {
	head, at, half := place/headDim*headDim, place%headDim, headDim/2
	if at < half {
		return head + 2*at
	}
	return head + 2*(at-half) + 1
}

// loadBlock reads the rank's share of a block.
func (d *dit) loadBlock(l *op.Loader, name string, modulated bool) block {
	t, hd := d.cfg, d.cfg.headDim()
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

// run passes rows of x through a block: x[lo:hi] += gate·norm(attention(norm(x)·scale)), and then the same formula with
// the feed-forward in place of attention. Scales and gates are the same for all rows, so they are multiplied into the
// norms' weights.
func (p *ditPass) run(b *block, rows op.Span) {
	d, t := p.d, p.d.cfg
	n, dim := rows.Len(), t.Dim
	x, h := p.x[rows.Lo*dim:rows.Hi*dim], p.h[:n*dim]
	seq := []int{1, n, dim}
	in := append([][]int{seq}, p.tables(n)...)
	norms, modulated := b.norms, b.mod.Matrix != nil
	if modulated {
		in = append(in, []int{1, len(p.cond)})
	}
	p.enter(b.name, in...)
	defer p.leave()
	if modulated {
		norms = p.modulate(b)
	}
	// A norm that is fused with a scale or a gate is not a module call.
	norm := func(path string, run func()) {
		if modulated {
			run()
		} else {
			p.call(b.name+path, run, seq)
		}
	}
	norm(".attention_norm1", func() { d.RMSNorm(h, x, nil, norms[beforeAttention], dim, n, t.NormEps) })
	p.enter(b.name+".attention", append([][]int{seq}, p.tables(n)...)...)
	p.attend(b, h, rows)
	p.leave()
	norm(".attention_norm2", func() { p.addNorm(x, h, norms[afterAttention], n) })
	norm(".ffn_norm1", func() { d.RMSNorm(h, x, nil, norms[beforeFFN], dim, n, t.NormEps) })
	p.enter(b.name+".feed_forward", seq)
	p.feed(b, h, n)
	p.leave()
	norm(".ffn_norm2", func() { p.addNorm(x, h, norms[afterFFN], n) })
}

// feed launches the feed-forward of a block for n rows. It reads its input from h and overwrites h with the result.
func (p *ditPass) feed(b *block, h []float32, n int) {
	d, dim, width, at := p.d, p.d.cfg.Dim, p.d.ffn.Len(), b.name+".feed_forward"
	p.call(at+".w13", func() { d.Linear(p.gateUp, 2*width, b.w13, h, dim, n) }, []int{1, n, dim})
	p.call(at+".act", func() { d.SiLUMul(p.act, p.gateUp, width, n, func() int { return n }) }, []int{1, n, 2 * width})
	p.call(at+".w2", func() {
		d.Linear(h, dim, b.w2, p.act, width, n)
		d.reduce(h)
	}, []int{1, n, width})
}

// tables returns the sizes of the tables of cosines and sines for the rotations of n rows.
func (p *ditPass) tables(n int) [][]int {
	half := p.d.cfg.headDim() / 2
	return [][]int{{n, half}, {n, half}}
}

// modulate computes the weights of a block's norms, including the scales and gates that follow from the condition.
func (p *ditPass) modulate(b *block) [4][]float32 {
	d, dim := p.d, p.d.cfg.Dim
	cond, at := []int{1, len(p.cond)}, b.name+".adaLN_modulation"
	p.call(at, func() {
		p.call(at+".0", func() { d.Linear(p.mod, 4*dim, b.mod, p.cond, len(p.cond), 1) }, cond)
	}, cond)
	var out [4][]float32
	for i := range out {
		out[i] = p.norms[i*dim:][:dim]
	}
	// The checkpoint has the same order as the norms: scale and gate of the attention, then scale and gate of the
	// feed-forward.
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

// addNorm launches x += RMSNorm(h) for n rows. The contents of h are lost.
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

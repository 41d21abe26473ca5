package model

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// embed launches the lookup of the tokens: x is [rows][hidden].
func (p *pass) embed(x []float32) {
	r, h := p.r, p.r.cfg.Hidden
	s := r.ByRows(p.n, h)
	tokens := p.in.tokens
	r.Launch(device.Kernel{
		Name: "vocab_parallel_embedding_kernel", Op: "aten::embedding", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Weights(r.opt.Format, r.geo.vocab.Len(), h), op.Ints(p.n)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			r.w.embed.row(int(tokens[i]), x[i*h:][:h])
		}
	})
}

// norm launches h = RMSNorm(x). If add is not nil, x += add precedes the norm. h, x and add are [n][hidden].
func (p *pass) norm(h, x, add, weight []float32) {
	p.r.RMSNorm(h, x, add, weight, p.r.cfg.Hidden, p.n, p.r.cfg.NormEps)
}

// add launches x += y; both are [n][hidden].
func (p *pass) add(x, y []float32) {
	r, width := p.r, p.r.cfg.Hidden
	s := r.ByRows(p.n, width)
	r.Launch(device.Kernel{
		Name: "vectorized_elementwise_kernel_add", Op: "aten::add_", Grid: op.Grid(p.n, 1),
		Args: []device.Arg{op.Floats(p.n, width), op.Floats(p.n, width)},
	}, s.Chunks(), func(chunk int) {
		lo, hi := s.Span(chunk).Lo*width, s.Span(chunk).Hi*width
		tensor.Add(x[lo:hi], x[lo:hi], y[lo:hi])
	})
}

// gather launches dst[i] = x[pick[i]] for n rows of hidden elements.
func (p *pass) gather(dst, x []float32, pick []int32, n int) {
	r, width := p.r, p.r.cfg.Hidden
	s := r.ByRows(n, width)
	r.Launch(device.Kernel{
		Name: "index_select_kernel", Op: "aten::index_select", Grid: op.Grid(n, 1),
		Args: []device.Arg{op.Floats(p.n, width), op.Ints(n)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			copy(dst[i*width:][:width], x[int(pick[i])*width:])
		}
	})
}

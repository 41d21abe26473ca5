//go:build linux && amd64 && !noasm

package main

import "github.com/stepscope/stepscope/internal/engine/tensor"

// product is a large matrix product on its own.
type product struct {
	m    *tensor.Matrix
	x, y []float32
}

func newProduct() *product {
	const rows, cols = 4096, 4096
	p := &product{x: make([]float32, promptLen*cols), y: make([]float32, promptLen*rows)}
	for i := range p.x {
		p.x[i] = float32(i%17) - 8
	}
	p.m = tensor.Pack(rows, cols, tensor.BF16Dot, func(r int, dst []float32) { copy(dst, p.x[r*7:]) })
	return p
}

func (p *product) flops() float64 { return 2 * promptLen * float64(p.m.Rows) * float64(p.m.Cols) }

func (p *product) run(n int) job {
	const panels = 8 // at a time
	return timed(func() {
		cores(n, p.m.Panels()/panels, func(part int) {
			p.m.Mul(p.y, p.m.Rows, p.x, p.m.Cols, promptLen, part*panels, (part+1)*panels)
		})
	})
}

//go:build linux && amd64 && !noasm

package main

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// product is a large matrix product with n rows.
type product struct {
	m    *tensor.Matrix
	n    int
	x, y []float32
}

func newProduct(f tensor.Format, rows, cols, n int) *product {
	p := &product{n: n, x: make([]float32, n*cols), y: make([]float32, n*rows)}
	for i := range p.x {
		p.x[i] = float32(i%17) - 8
	}
	p.m = tensor.Pack(rows, cols, f, func(r int, dst []float32) {
		for i := range dst {
			dst[i] = float32((r*7+i)%17) - 8
		}
	})
	return p
}

func (p *product) flops() float64 { return 2 * float64(p.n) * float64(p.m.Rows) * float64(p.m.Cols) }

func (p *product) run(workers int) job {
	const panels = 8 // number of panels per task
	return timed(func() {
		cores(workers, p.m.Panels()/panels, func(part int) {
			p.m.Mul(p.y, p.m.Rows, p.x, p.m.Cols, p.n, part*panels, (part+1)*panels)
		})
	})
}

// kernels measures matrix products on one core, for all levels and formats and several batch sizes. The limit for a
// product is the longer of two times: the time for the arithmetic alone and the time for reading the weights alone.
func (t *table) kernels(m *machine) {
	for l := tensor.Best(); l > tensor.Generic; l-- {
		if l == tensor.AVX512 && tensor.Best() == tensor.AVX512BF16 {
			continue // this level has the same kernels as the other level
		}
		tensor.Use(l)
		for _, f := range []tensor.Format{tensor.F32, tensor.BF16, tensor.BF16Dot} {
			if f == tensor.BF16Dot && l != tensor.AVX512BF16 {
				continue // the arithmetic is the same as for BF16, on rounded activations
			}
			for _, n := range []int{1, 6, 12, 32, 128, 512} {
				const cols = 4096
				rows := 4096
				if n < 32 {
					rows = len(m.stream) / 2 / cols // the weights are larger than any cache
				}
				p := newProduct(f, rows, cols, n)
				beside, limit := "multiply-adds", m.compute(f, p.flops())
				if read := m.read(float64(p.m.Bytes())); read() > limit() {
					beside, limit = "reading memory", read
				}
				t.row(line{fmt.Sprintf("%s, %s, %d rows", l, f, n), "GFLOP/s", p.flops() / 1e9, p.run(1), beside, p.flops() / 1e9, limit, 0})
			}
		}
	}
}

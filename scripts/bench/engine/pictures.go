//go:build linux && amd64 && !noasm

package main

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/op"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// pictures measures two further operations of diffusion in float32. It compares each operation with a matrix product of
// similar shape. The operations are a convolution of 3×3 over 64×64 pixels of 128 channels, and attention of 1056 rows
// over all rows with 12 heads of 64.
func (t *table) pictures(workers int) {
	d := device.New(device.Options{Workers: workers})
	defer d.Close()
	l := op.Launcher{Stream: d.Stream(), Workers: workers}
	launched := func(launch func()) job {
		return timed(func() {
			launch()
			check(l.Stream.Synchronize())
		})
	}
	p := newProduct(tensor.F32, 4096, 1152, 512)
	product := launched(func() {
		l.Linear(p.y, p.m.Rows, op.Linear{Matrix: p.m}, p.x, p.m.Cols, p.n)
	})
	const side, channels = 64, 128
	weights := &op.Loader{Src: hf.NewDummy(map[string][]int{"c.weight": {channels, channels, 3, 3}, "c.bias": {channels}}, 1)}
	c := weights.Conv("c")
	check(weights.Err)
	x, y := op.NewPlane(side, side, channels), op.NewPlane(side, side, channels)
	const convolution = 2 * side * side * 9 * channels * channels / 1e9
	t.row(line{"convolution", "GFLOP/s", convolution, launched(func() { l.Conv(&c, y, x, 1) }), "GEMM, float32", p.flops() / 1e9, product, 0.6})

	const heads, width, rows = 12, 64, 1056
	a := op.NewAttention(heads, width, rows)
	qkv, out := make([]float32, rows*3*heads*width), make([]float32, rows*heads*width)
	a.Store(&l, "store", "", qkv, rows, nil)
	const attention = 4.0 * heads * width * rows * rows / 1e9
	t.row(line{"attention", "GFLOP/s", attention, launched(func() { a.Run(&l, out, qkv, rows) }), "GEMM, float32", p.flops() / 1e9, product, 0.6})
}

// Package op launches the operations that all networks on the device share: products with weights, activations and
// norms. It also divides kernels into chunks for the device's workers.
package op

import (
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

// Launcher launches kernels on one stream of a device that has Workers workers.
type Launcher struct {
	Stream  *device.Stream
	Workers int
}

// Grid returns the grid of a launch for a trace. The grid depends only on the work and not on the number of workers, so
// that captures are comparable.
func Grid(x, y int) [3]int32 { return [3]int32{int32(max(x, 1)), int32(max(y, 1)), 1} }

// block is the block size that traces show for all kernels: 64 outputs, one tile.
var block = [3]int32{tensor.PanelRows, 1, 1}

// Launch queues a kernel with the given number of chunks.
func (l *Launcher) Launch(k device.Kernel, chunks int, run func(chunk int)) {
	k.Block, k.Chunks, k.Run = block, chunks, run
	l.Stream.Launch(k)
}

// Floats describes a float32 tensor as an argument.
func Floats(dims ...int) device.Arg { return device.Tensor(device.Float32, dims...) }

// Ints describes an int32 tensor as an argument.
func Ints(dims ...int) device.Arg { return device.Tensor(device.Int32, dims...) }

// Weights describes a weight as an argument.
func Weights(f tensor.Format, dims ...int) device.Arg {
	if f == tensor.F32 {
		return device.Tensor(device.Float32, dims...)
	}
	return device.Tensor(device.BFloat16, dims...)
}

// Span is the range Lo ≤ i < Hi of a list.
type Span struct{ Lo, Hi int }

// Len is the number of elements.
func (s Span) Len() int { return s.Hi - s.Lo }

// Part returns the i-th of the given number of parts of n elements. The sizes of the parts differ by at most 1.
func Part(n, parts, i int) Span { return Span{n * i / parts, n * (i + 1) / parts} }

// Split divides the N rows of a kernel into chunks of Step rows.
type Split struct{ N, Step int }

// Chunks is the number of chunks, at least one.
func (s Split) Chunks() int { return max((s.N+s.Step-1)/s.Step, 1) }

// Span returns the rows of a chunk.
func (s Split) Span(chunk int) Span { return Span{min(chunk*s.Step, s.N), min((chunk+1)*s.Step, s.N)} }

// minChunk is the minimum number of elementary operations per chunk. A second worker is not worthwhile for smaller
// chunks.
const minChunk = 1 << 15

// ChunksPerWorker is the number of chunks per worker. With several chunks per worker, the load stays balanced if some
// workers lose their cores.
const ChunksPerWorker = 4

// ByRows splits n rows into chunks. Each row costs about cost operations.
func (l *Launcher) ByRows(n, cost int) Split {
	pieces := min(n, ChunksPerWorker*l.Workers, n*cost/minChunk)
	if l.Workers == 1 {
		pieces = 1
	}
	return Split{n, max((n+max(pieces, 1)-1)/max(pieces, 1), 1)}
}

// Linear is y = W·x + bias, or a rank's part of it.
type Linear struct {
	*tensor.Matrix
	Bias []float32 // nil: none
}

// Linear launches y[i] = W·x[i] + bias for n rows: y is [n][ldy], x is [n][ldx].
func (l *Launcher) Linear(y []float32, ldy int, w Linear, x []float32, ldx, n int) {
	want := ChunksPerWorker * l.Workers
	if work := n * w.Rows * w.Cols; l.Workers == 1 || work < 2*minChunk {
		want = 1
	}
	// Split rows first, and split panels only as far as necessary. Every chunk rounds the activations of its rows, so
	// chunks of different panels with the same rows repeat the rounding.
	const tile, enough = 6, 128 // number of rows that share weights in registers, and in a cache
	rows := Split{n, max(n, 1)}
	cut := func(parts int) { rows.Step = max((n/parts+tile-1)/tile*tile, 4*tile) }
	if parts := min(want, n/enough); parts > 1 {
		cut(parts)
	}
	panels := Split{w.Panels(), max(w.Panels()*rows.Chunks()/want, 1)}
	if parts := want / panels.Chunks(); parts > rows.Chunks() { // there are few panels
		cut(parts)
	}
	across := panels.Chunks()
	args := []device.Arg{Floats(n, w.Cols), Weights(w.Format, w.Rows, w.Cols)}
	if w.Bias != nil {
		args = append(args, Floats(w.Rows))
	}
	k := device.Kernel{Name: gemmNames[w.Format], Op: "aten::linear", Grid: Grid(w.Panels(), (n+5)/6), Args: args}
	if across > 1 && rows.Chunks() == 1 { // few rows: most of the time is spent reading the weights
		t := newTurns(w.Panels(), l.Workers)
		l.Launch(k, l.Workers, func(int) { w.applyEach(y, ldy, x, ldx, n, t.next); t.end() })
		return
	}
	l.Launch(k, across*rows.Chunks(), func(chunk int) {
		p, i := panels.Span(chunk%across), rows.Span(chunk/across)
		w.Apply(y[i.Lo*ldy:], ldy, x[i.Lo*ldx:], ldx, i.Len(), p)
	})
}

var gemmNames = [...]string{
	tensor.F32: "gemm_f32_f32_f32_tn_64x6", tensor.BF16: "gemm_bf16_f32_f32_tn_64x6", tensor.BF16Dot: "gemm_bf16_bf16_f32_tn_64x6",
}

// Apply computes the outputs of panels p for n rows, including bias.
func (w Linear) Apply(y []float32, ldy int, x []float32, ldx, n int, p Span) {
	w.applyEach(y, ldy, x, ldx, n, func() Span {
		now := p
		p.Lo = p.Hi
		return now
	})
}

// applyEach computes the outputs of each span of panels that next returns, until next returns an empty span.
func (w Linear) applyEach(y []float32, ldy int, x []float32, ldx, n int, next func() Span) {
	var done Span
	w.MulEach(y, ldy, x, ldx, n, func() (lo, hi int) {
		if w.Bias != nil {
			w.addBias(y, ldy, n, done)
		}
		done = next()
		return done.Lo, done.Hi
	})
}

func (w Linear) addBias(y []float32, ldy, n int, p Span) {
	lo, hi := p.Lo*tensor.PanelRows, min(p.Hi*tensor.PanelRows, w.Rows)
	if lo >= hi {
		return
	}
	for i := range n {
		out := y[i*ldy+lo : i*ldy+hi]
		tensor.Add(out, out, w.Bias[lo:hi])
	}
}

// SiLUMul launches out = silu(gate)·up: gateUp is [rows][2·width], and out is [rows][width]. The kernel calls rows,
// which returns the number of rows to compute, at most n.
func (l *Launcher) SiLUMul(out, gateUp []float32, width, n int, rows func() int) {
	s := l.ByRows(n, 8*width)
	l.Launch(device.Kernel{
		Name: "act_and_mul_kernel_silu", Op: "sgl_kernel::silu_and_mul", Grid: Grid(n, 1),
		Args: []device.Arg{Floats(n, 2*width)},
	}, s.Chunks(), func(chunk int) {
		have := rows()
		for i := s.Span(chunk).Lo; i < min(s.Span(chunk).Hi, have); i++ {
			row := gateUp[2*i*width:]
			tensor.SiLUMul(out[i*width:][:width], row[:width], row[width:2*width])
		}
	})
}

// RMSNorm launches h = RMSNorm(x). If add is not nil, x += add precedes the norm. h, x and add are [n][width].
func (l *Launcher) RMSNorm(h, x, add, weight []float32, width, n int, eps float64) {
	s := l.ByRows(n, 4*width)
	name, as := "FusedAddRMSNormKernel", "sgl_kernel::fused_add_rmsnorm"
	if add == nil {
		name, as = "RMSNormKernel", "sgl_kernel::rmsnorm"
	}
	l.Launch(device.Kernel{
		Name: name, Op: as, Grid: Grid(n, 1),
		Args: []device.Arg{Floats(n, width), Floats(width)},
	}, s.Chunks(), func(chunk int) {
		for i := s.Span(chunk).Lo; i < s.Span(chunk).Hi; i++ {
			row := x[i*width:][:width]
			if add != nil {
				tensor.Add(row, row, add[i*width:][:width])
			}
			tensor.RMSNorm(h[i*width:][:width], row, weight, float32(eps))
		}
	})
}

// Each launches a kernel that calls f with spans of rows until all n rows are covered. Each row costs about cost
// operations.
func (l *Launcher) Each(k device.Kernel, n, cost int, f func(rows Span)) {
	s := l.ByRows(n, cost)
	k.Grid = Grid(n, 1)
	l.Launch(k, s.Chunks(), func(chunk int) { f(s.Span(chunk)) })
}

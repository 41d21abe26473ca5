package tensor

import (
	"fmt"
	"testing"
)

// On a shared machine take the best of many short runs:
//
//	go test -run - -bench Mul -benchtime 50ms -count 10 ./internal/reference/engine/tensor
//
// scripts/bench/kernels.sh sets the rates against the machine's limits.

func benchLevels(b *testing.B, f func(b *testing.B)) {
	defer Use(Current())
	for l := Generic; l <= Best(); l++ {
		Use(l)
		b.Run(l.String(), f)
	}
}

func BenchmarkMul(b *testing.B) {
	const rows, cols = 4096, 4096
	for _, f := range formats {
		var m *Matrix // once, and only if this format is selected
		for _, n := range []int{1, 6, 12, 32, 128, 512} {
			b.Run(fmt.Sprintf("%s/n=%d", f, n), func(b *testing.B) {
				if m == nil {
					w := normals(newRand(1), cols)
					m = Pack(rows, cols, f, func(_ int, dst []float32) { copy(dst, w) })
				}
				x, y := normals(newRand(2), n*cols), make([]float32, n*rows)
				benchLevels(b, func(b *testing.B) {
					step, at := max(4, min(m.Panels(), 256/n)), 0
					for b.Loop() {
						if at+step > m.Panels() {
							at = 0
						}
						m.Mul(y, rows, x, cols, n, at, at+step)
						at += step
					}
					perOp := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
					b.ReportMetric(2*float64(n*cols*step*PanelRows)/perOp, "GFLOP/s")
					b.ReportMetric(float64(step*m.Bytes()/m.Panels())/perOp, "GB/s")
				})
			})
		}
	}
}

func BenchmarkAttend(b *testing.B) {
	const hd, length = 128, 2048
	for _, n := range []int{1, 4, 24} {
		ls := make([]int, n)
		for i := range ls {
			ls[i] = length
		}
		a := newAttention(1, hd, length, hd, ls)
		out, scratch := make([]float32, n*hd), make([]float32, AttendScratch(n, length))
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			benchLevels(b, func(b *testing.B) {
				for b.Loop() {
					AttendRows(out, hd, a.q, hd, hd, a.kblock, a.vblock, ls, 0.1, scratch)
				}
				perOp := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				b.ReportMetric(4*float64(n*hd*length)/perOp, "GFLOP/s")
				b.ReportMetric(8*float64(hd*length)/perOp, "GB/s")
			})
		})
	}
}

func BenchmarkVec(b *testing.B) {
	const n = 4096
	r := newRand(1)
	x, w, dst := normals(r, n), normals(r, n), make([]float32, n)
	half := make([]uint16, n)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"add", func() { Add(dst, x, w) }},
		{"axpy", func() { Axpy(dst, 1e-9, x) }},
		{"dot", func() { dot(Current(), x, w) }},
		{"rmsnorm", func() { RMSNorm(dst, x, w, 1e-5) }},
		{"silumul", func() { SiLUMul(dst, x, w) }},
		{"softmax", func() { copy(dst, x); Softmax(dst) }},
		{"rope", func() { Rope(dst, x[:n/2], w[:n/2]) }},
		{"maxidx", func() { MaxIdx(x) }},
		{"encode", func() { EncodeBF16(half, x) }},
		{"decode", func() { DecodeBF16(dst, half) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchLevels(b, func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				b.ReportMetric(n*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "elements/ns")
			})
		})
	}
}

func BenchmarkPack(b *testing.B) {
	const rows, cols = 512, 4096
	w := normals(newRand(1), cols)
	for _, f := range []Format{F32, BF16} {
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(int64(Pack(rows, cols, f, func(int, []float32) {}).Bytes()))
			for b.Loop() {
				Pack(rows, cols, f, func(_ int, dst []float32) { copy(dst, w) })
			}
		})
	}
}

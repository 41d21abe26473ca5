package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var ymm = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

// stripVecs is the number of vectors that a tile computes at once, by number m of rows. A vector has eight outputs.
// These vectors form a strip of the panel, and the other strips follow. A tile has at least eight sums, to hide the
// latency of an addition, and at most twelve sums.
var stripVecs = [maxRows + 1]int{1: 8, 2: 4, 3: 4, 4: 2, 5: 2, 6: 2}

// tiles2 emits the AVX2 tiles. The tiles have up to twelve sums in Y0…Y11. Activations and weights are in the other
// registers.
func tiles2(g *gen) {
	const width = 32
	mask := g.StaticGlobal("upperHalves")
	g.DataAttributes(rodata)
	for range 8 {
		g.AppendDatum(operand.U32(0xffff0000))
	}

	tile := func(name, doc string, pairs bool) {
		g.tileFunc(name, doc, func(m int, label func(string) string) {
			vecs := stripVecs[m]
			acc := func(i, v int) reg.VecPhysical { return ymm[vecs*i+v] }
			x := ymm[12:15] // broadcast activations
			if vecs == 8 {
				x = ymm[8:9]
			}
			at := func(v int) operand.Mem { return operand.Mem{Base: wAt, Disp: v * width} }
			rank1 := func(disp int, load func(v int, r reg.VecPhysical)) { g.rank1(m, vecs, disp, x, load, acc) }
			whole := func(v int, r reg.VecPhysical) { g.VMOVUPS(at(v), r) }
			even := func(v int, r reg.VecPhysical) {
				g.VMOVUPS(at(v), r)
				g.VPSLLD(operand.Imm(16), r, r)
			}
			odd := func(v int, r reg.VecPhysical) {
				g.VMOVUPS(at(v), r)
				g.VANDPS(mask, r, r)
			}

			// A strip reads only a part of the cache lines of each step, so the CPU's prefetcher detects no stream.
			// Therefore each strip prefetches the lines that the same strip of the next block will read.
			prefetch := func() {
				for v := 0; v < vecs && m > 1; v += 2 {
					g.PREFETCHT1(operand.Mem{Base: wAt, Index: ahead, Scale: 1, Disp: v * width})
				}
			}
			g.MOVQ(operand.U32(8/vecs), strip)
			g.Label(label("strip"))
			g.accumulators(m, vecs, width, acc, label)
			if pairs {
				g.SHRQ(operand.Imm(1), count)
				g.loop(m, 2, 8, label, func(u int) {
					rank1(8*u, even)
					rank1(8*u+4, odd)
					prefetch()
					g.ADDQ(ldw, wAt)
				})
				g.oddColumn(label, func() { rank1(0, even) })
			} else {
				g.loop(m, 4, 4, label, func(u int) {
					rank1(4*u, whole)
					prefetch()
					g.ADDQ(ldw, wAt)
				})
			}
			g.store(m, vecs, width, acc)
			g.ADDQ(operand.U32(vecs*width), yPtr)
			g.ADDQ(operand.U32(vecs*width), wPtr)
			g.DECQ(strip)
			g.JNE(operand.LabelRef(label("strip")))
			g.SUBQ(operand.U32(panelBytes), yPtr)
			g.SUBQ(operand.U32(panelBytes), wPtr)
		})
	}
	tile("tileF32AVX2", "is the tile of float32 weights.", false)
	tile("tileBF16AVX2", "is the tile of bf16 pairs, widened; k counts columns.", true)
}

// rank1 emits code that adds an outer product to the sums acc. The code multiplies one activation per row, at offset
// disp bytes, by the weights that load returns.
func (g *gen) rank1(m, vecs, disp int, x []reg.VecPhysical, load func(v int, r reg.VecPhysical), acc func(i, v int) reg.VecPhysical) {
	if m <= 3 { // keep the activations, load the weights one by one
		for i := range m {
			g.VBROADCASTSS(rowAddr(xAt, xAt3, ldx, i, disp), x[i])
		}
		for v := range vecs {
			load(v, ymm[15])
			for i := range m {
				g.VFMADD231PS(ymm[15], x[i], acc(i, v))
			}
		}
		return
	}
	ws := [2]reg.VecPhysical{ymm[14], ymm[15]}
	for v := range vecs {
		load(v, ws[v])
	}
	for i := range m {
		b := ymm[12+i%2]
		g.VBROADCASTSS(rowAddr(xAt, xAt3, ldx, i, disp), b)
		for v := range vecs {
			g.VFMADD231PS(ws[v], b, acc(i, v))
		}
	}
}

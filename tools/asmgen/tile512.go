package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var zmm = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// tiles512 emits the AVX-512 tiles. The tiles have 24 sums in Z0…Z23, four vectors of weights in Z24…Z27, broadcast
// activations alternately in Z28, Z29 and Z30, and a mask in Z31.
func tiles512(g *gen) {
	const vecs, width = 4, 64
	acc := func(i, v int) reg.VecPhysical { return zmm[vecs*i+v] }
	weight := func(v int) reg.VecPhysical { return zmm[24+v] }
	at := func(v int) operand.Mem { return operand.Mem{Base: wAt, Disp: v * width} }
	// During the computation, the tiles of a block of columns prefetch the next block. A full tile prefetches two of
	// the four cache lines of every step. A tile of few rows may be the only tile and therefore prefetches all four
	// lines.
	prefetch := func(m int) {
		lines := 2
		if m < maxRows {
			lines = 4
		}
		for i := range lines {
			g.PREFETCHT1(operand.Mem{Base: wAt, Index: ahead, Scale: 1, Disp: i * vecs / lines * width})
		}
	}
	// rank1 emits code that adds the outer product of one activation per row and the weights.
	rank1 := func(m, disp int) {
		for i := range m {
			b := zmm[28+i%3]
			g.VBROADCASTSS(rowAddr(xAt, xAt3, ldx, i, disp), b)
			for v := range vecs {
				g.VFMADD231PS(weight(v), b, acc(i, v))
			}
		}
	}

	g.tileFunc("tileF32AVX512", "is the tile of float32 weights.", func(m int, label func(string) string) {
		g.accumulators(m, vecs, width, acc, label)
		g.spread()
		g.loop(m, 4, 4, label, func(u int) {
			for v := range vecs {
				g.VMOVUPS(at(v), weight(v))
			}
			prefetch(m)
			g.ADDQ(ldw, wAt)
			rank1(m, 4*u)
		})
		g.store(m, vecs, width, acc)
	})

	g.tileFunc("stripF32AVX512", "is tileF32AVX512 for the first 16 outputs alone; it fetches nothing ahead.", func(m int, label func(string) string) {
		first := func(i, _ int) reg.VecPhysical { return zmm[i] }
		g.accumulators(m, 1, width, first, label)
		g.loop(m, 4, 4, label, func(u int) {
			g.VMOVUPS(at(0), weight(0))
			g.ADDQ(ldw, wAt)
			for i := range m {
				b := zmm[28+i%3]
				g.VBROADCASTSS(rowAddr(xAt, xAt3, ldx, i, 4*u), b)
				g.VFMADD231PS(weight(0), b, first(i, 0))
			}
		})
		g.store(m, 1, width, first)
	})

	g.tileFunc("tileBF16AVX512", "is the tile of bf16 pairs, widened; k counts columns.", func(m int, label func(string) string) {
		even := func() {
			for v := range vecs {
				g.VPSLLD(operand.Imm(16), at(v), weight(v))
			}
		}
		g.MOVL(operand.U32(0xffff0000), count.As32())
		g.VPBROADCASTD(count.As32(), zmm[31])
		g.accumulators(m, vecs, width, acc, label)
		g.SHRQ(operand.Imm(1), count)
		g.spread()
		g.loop(m, 2, 8, label, func(u int) {
			even()
			rank1(m, 8*u)
			for v := range vecs {
				g.VPANDD(at(v), zmm[31], weight(v))
			}
			prefetch(m)
			g.ADDQ(ldw, wAt)
			rank1(m, 8*u+4)
		})
		g.oddColumn(label, func() {
			even()
			rank1(m, 0)
		})
		g.store(m, vecs, width, acc)
	})

	g.tileFunc("tileDotAVX512", "is the tile of bf16 pairs on both sides; k and ldx count pairs.", func(m int, label func(string) string) {
		g.accumulators(m, vecs, width, acc, label)
		g.spread()
		g.loop(m, 4, 4, label, func(u int) {
			for v := range vecs {
				g.VMOVUPS(at(v), weight(v))
			}
			prefetch(m)
			g.ADDQ(ldw, wAt)
			for i := range m {
				b := 28 + i%3
				g.VBROADCASTSS(rowAddr(xAt, xAt3, ldx, i, 4*u), zmm[b])
				for v := range vecs {
					g.vdpbf16ps(24+v, b, vecs*i+v)
				}
			}
		})
		g.store(m, vecs, width, acc)
	})
}

// spread emits code that adds to ahead the offset of one of the step's cache lines. The offset is (rows·32) mod 256,
// rounded down to whole lines, where rows is the number of remaining rows. This number decreases by six per tile, so
// successive tiles select all four lines.
func (g *gen) spread() {
	g.MOVQ(rows, spare)
	g.SHLQ(operand.Imm(5), spare)
	g.ANDQ(operand.U32(0xc0), spare)
	g.ADDQ(spare, ahead)
}

// vdpbf16ps emits VDPBF16PS Z<a>, Z<b>, Z<c>: c += the dot products of the bf16 pairs of a and b. The encoding is
// EVEX.512.F3.0F38.W0 52 /r. See Intel SDM volume 2, "EVEX encoding", for the fields. The fields are stored inverted,
// except for the field of the mask.
func (g *gen) vdpbf16ps(a, b, c int) {
	not := func(r, bit, to int) byte { return byte(^r>>bit&1) << to }
	g.code([6]byte{
		0x62,
		not(c, 3, 7) | not(a, 4, 6) | not(a, 3, 5) | not(c, 4, 4) | 0x02, // R X B R' 0F38
		byte(^b&15)<<3 | 0x04 | 0x02,                                     // W=0 vvvv 1 F3
		0x40 | not(b, 4, 3),                                              // 512 bits V'
		0x52,
		0xc0 | byte(c&7)<<3 | byte(a&7),
	})
}

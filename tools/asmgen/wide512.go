package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide512 emits, for AVX-512, the product of one row with four panels abreast.
// One row computes so little that the weights' way from memory is all that
// counts, and four streams come faster than one. Sums in Z0…Z15, weights in turn
// in Z16…Z27, activations in Z28 and Z29, a mask in Z31.
func wide512(g *gen) {
	const vecs, width = 4, 64
	panels := []reg.GPPhysical{reg.RDX, reg.R8, reg.R9, reg.R10}
	even, odd, mask := zmm[28], zmm[29], zmm[31]

	// load fetches the activations of a step, xBytes of them; rank1 adds their
	// products with a vector of weights to the i-th sum.
	wide := func(name, doc string, xBytes int, load func(), rank1 func(w operand.Mem, i int)) {
		g.function(name, "(y *float32, x *float32, w *float32, panel int, k int)", doc)
		g.Load(g.Param("y"), yPtr)
		g.Load(g.Param("x"), xAt)
		g.Load(g.Param("w"), panels[0])
		g.Load(g.Param("panel"), spare)
		g.Load(g.Param("k"), count)
		for p := range len(panels) - 1 {
			g.LEAQ(operand.Mem{Base: panels[p], Index: spare, Scale: 4}, panels[p+1])
		}
		g.MOVL(operand.U32(0xffff0000), spare.As32())
		g.VPBROADCASTD(spare.As32(), mask)
		for i := range len(panels) * vecs {
			g.VPXORD(zmm[i], zmm[i], zmm[i])
		}
		g.Label("loop")
		load()
		g.ADDQ(operand.Imm(uint64(xBytes)), xAt)
		for p, w := range panels {
			for v := range vecs {
				rank1(operand.Mem{Base: w, Disp: v * width}, p*vecs+v)
			}
			g.ADDQ(operand.U32(vecs*width), w)
		}
		g.DECQ(count)
		g.JNE(operand.LabelRef("loop"))
		for i := range len(panels) * vecs {
			g.VMOVUPS(zmm[i], operand.Mem{Base: yPtr, Disp: i * width})
		}
		g.VZEROUPPER()
		g.RET()
	}
	one := func() { g.VBROADCASTSS(operand.Mem{Base: xAt}, even) }

	wide("wideF32AVX512", "is one row of tileF32AVX512 for four panels, panel words apart.", 4, one,
		func(w operand.Mem, i int) { g.VFMADD231PS(w, even, zmm[i]) })

	wide("wideBF16AVX512", "is one row of tileBF16AVX512 for four panels; k counts pairs.", 8,
		func() {
			one()
			g.VBROADCASTSS(operand.Mem{Base: xAt, Disp: 4}, odd)
		},
		func(w operand.Mem, i int) {
			low, high := zmm[16+i%6*2], zmm[17+i%6*2]
			g.VPSLLD(operand.Imm(16), w, low)
			g.VPANDD(w, mask, high)
			g.VFMADD231PS(low, even, zmm[i])
			g.VFMADD231PS(high, odd, zmm[i])
		})

	wide("wideDotAVX512", "is one row of tileDotAVX512 for four panels; k counts pairs.", 4, one,
		func(w operand.Mem, i int) {
			g.VMOVUPS(w, zmm[16+i%12])
			g.vdpbf16ps(16+i%12, 28, i)
		})
}

package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// crcFold emits the loop of a checksum: 256 bytes of state, four vectors of four
// lanes of 128 bits, are multiplied by a power of x and 256 bytes of the message
// added, by polynomials over GF(2).
func crcFold(g *gen) {
	const vecs, width = 4, 64
	state, p, blocks, k := reg.RAX, reg.RBX, reg.RCX, reg.RDX
	by := zmm[vecs]
	g.function("fold", "(state *[256]byte, p *byte, blocks int, by *[2]uint64)",
		"multiplies each lane of the state by the two powers and adds a block of 256 bytes, so many times.")
	g.Load(g.Param("state"), state)
	g.Load(g.Param("p"), p)
	g.Load(g.Param("blocks"), blocks)
	g.Load(g.Param("by"), k)
	g.VBROADCASTI32X4(operand.Mem{Base: k}, by)
	for i := range vecs {
		g.VMOVDQU64(operand.Mem{Base: state, Disp: i * width}, zmm[i])
	}
	g.Label("loop")
	for i := range vecs {
		low := zmm[vecs+1+i]
		g.VPCLMULQDQ(operand.Imm(0x00), by, zmm[i], low)
		g.VPCLMULQDQ(operand.Imm(0x11), by, zmm[i], zmm[i])
		g.VPTERNLOGQ(operand.Imm(0x96), operand.Mem{Base: p, Disp: i * width}, low, zmm[i]) // the sum of the three
	}
	g.ADDQ(operand.U32(vecs*width), p)
	g.DECQ(blocks)
	g.JNE(operand.LabelRef("loop"))
	for i := range vecs {
		g.VMOVDQU64(zmm[i], operand.Mem{Base: state, Disp: i * width})
	}
	g.VZEROUPPER()
	g.RET()
}

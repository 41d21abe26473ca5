package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// limitLoops emits loops that measure the machine's limits. One kind performs arithmetic on registers alone, in enough
// independent chains to hide the latency. Another computes a sum over memory.
func limitLoops(g *gen) {
	const chains = 24
	count := reg.RAX
	registers := func(name, doc string, regs []reg.VecPhysical, n int, op func(i int)) {
		g.function(name, "(turns int)", doc)
		g.Load(g.Param("turns"), count)
		for _, r := range regs {
			if len(regs) == 16 {
				g.VXORPS(r, r, r)
			} else {
				g.VPXORD(r, r, r)
			}
		}
		g.Label("loop")
		for i := range n {
			op(i)
		}
		g.DECQ(count)
		g.JNE(operand.LabelRef("loop"))
		g.VZEROUPPER()
		g.RET()
	}
	registers("fmaAVX2", "does 12 multiply-adds of 8 floats a turn.", ymm, 12, func(i int) { g.VFMADD231PS(ymm[14], ymm[15], ymm[i]) })
	registers("fmaAVX512", "does 24 multiply-adds of 16 floats a turn.", zmm, chains, func(i int) { g.VFMADD231PS(zmm[30], zmm[31], zmm[i]) })
	registers("dotAVX512", "does 24 dot products of 16 bf16 pairs a turn.", zmm, chains, func(i int) { g.vdpbf16ps(30, 31, i) })

	// Read four streams, because several cores that each read a single stream do not use the full memory bandwidth.
	streams := []reg.GPPhysical{reg.RBX, reg.RCX, reg.RDX, reg.RSI}
	read := func(name, doc string, width int, regs []reg.VecPhysical, xor func(...operand.Op)) {
		g.function(name, "(p *byte, n int)", doc)
		g.Load(g.Param("p"), streams[0])
		g.Load(g.Param("n"), count)
		g.SHRQ(operand.Imm(2), count)
		for i, s := range streams[1:] {
			g.LEAQ(operand.Mem{Base: streams[i], Index: count, Scale: 1}, s)
		}
		g.Label("loop")
		for _, s := range streams {
			for i := range 4 {
				xor(operand.Mem{Base: s, Disp: i * width}, regs[i], regs[i])
			}
			g.ADDQ(operand.U32(4*width), s)
		}
		g.SUBQ(operand.U32(4*width), count)
		g.JG(operand.LabelRef("loop"))
		g.VZEROUPPER()
		g.RET()
	}
	read("readAVX2", "reads n bytes, a multiple of 512, as four streams.", 32, ymm, g.VXORPS)
	read("readAVX512", "reads n bytes, a multiple of 1024, as four streams.", 64, zmm, g.VPXORD)
}

package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// limitLoops emits what measures the machine: arithmetic on registers alone,
// in enough chains to hide its latency, and a sum over memory.
func limitLoops(g *gen) {
	const chains = 24
	count, ptr := reg.RAX, reg.RBX
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

	read := func(name, doc string, width int, regs []reg.VecPhysical, xor func(...operand.Op)) {
		g.function(name, "(p *byte, n int)", doc)
		g.Load(g.Param("p"), ptr)
		g.Load(g.Param("n"), count)
		g.Label("loop")
		for i := range 8 {
			xor(operand.Mem{Base: ptr, Disp: i * width}, regs[i%4], regs[i%4])
		}
		g.ADDQ(operand.U32(8*width), ptr)
		g.SUBQ(operand.U32(8*width), count)
		g.JG(operand.LabelRef("loop"))
		g.VZEROUPPER()
		g.RET()
	}
	read("readAVX2", "reads n bytes, a multiple of 256.", 32, ymm, g.VXORPS)
	read("readAVX512", "reads n bytes, a multiple of 512.", 64, zmm, g.VPXORD)
}

package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const rodata = attr.RODATA | attr.NOPTR

// isa describes an instruction set for the vector operations. Most instructions have the same names in AVX2 and
// AVX-512; the operands' registers select the instruction set.
type isa struct {
	suffix string
	lanes  int // floats per vector
	regs   []reg.VecPhysical
}

var (
	avx2   = isa{"AVX2", 8, ymm}
	avx512 = isa{"AVX512", 16, zmm}
)

// vec emits the vector operations of one instruction set.
type vec struct {
	*gen
	isa
	consts map[string]operand.Mem
}

func (v *vec) bytes() int { return 4 * v.lanes }

// constant returns a memory operand that contains 16 copies of bits.
func (v *vec) constant(name string, bits uint32) operand.Mem {
	if m, ok := v.consts[name]; ok {
		return m
	}
	m := v.StaticGlobal(name)
	v.DataAttributes(rodata)
	for range 16 {
		v.AppendDatum(operand.U32(bits))
	}
	v.consts[name] = m
	return m
}

func (v *vec) float(name string, x float32) operand.Mem {
	return v.constant(name, math.Float32bits(x))
}

// slidingMask returns eight words of ones followed by eight words of zeros. The eight words that begin at word 8-n are
// the AVX2 mask of n lanes.
func (v *vec) slidingMask() operand.Mem {
	const name = "slidingMask"
	if m, ok := v.consts[name]; ok {
		return m
	}
	m := v.StaticGlobal(name)
	v.DataAttributes(rodata)
	for i := range 16 {
		bits := uint32(0xffffffff)
		if i >= 8 {
			bits = 0
		}
		v.AppendDatum(operand.U32(bits))
	}
	v.consts[name] = m
	return m
}

// tailMask is the register with the mask of the last, partial vector in AVX2 code. AVX-512 code has this mask in K1.
var tailMask = reg.Y15

// setTail emits code that sets the mask to n lanes, 0 < n < lanes. It clobbers n, RAX and RCX.
func (v *vec) setTail(n reg.GPPhysical) {
	if v.lanes == 16 {
		v.MOVQ(n, reg.RCX)
		v.MOVL(operand.U32(1), reg.EAX)
		v.SHLL(reg.CL, reg.EAX)
		v.DECL(reg.EAX)
		v.KMOVW(reg.EAX, reg.K1)
		return
	}
	v.LEAQ(v.slidingMask(), reg.RAX)
	v.NEGQ(n)
	v.VMOVUPS(operand.Mem{Base: reg.RAX, Disp: 32, Index: n, Scale: 4}, tailMask)
}

// load emits code that reads a vector. If tail is set, the code reads only the lanes in the mask and sets the other
// lanes to zero.
func (v *vec) load(from operand.Mem, to reg.VecPhysical, tail bool) {
	switch {
	case !tail:
		v.VMOVUPS(from, to)
	case v.lanes == 16:
		v.VMOVUPS_Z(from, reg.K1, to)
	default:
		v.VMASKMOVPS(from, tailMask, to)
	}
}

// store emits code that writes a vector. If tail is set, the code writes only the lanes in the mask.
func (v *vec) store(from reg.VecPhysical, to operand.Mem, tail bool) {
	switch {
	case !tail:
		v.VMOVUPS(from, to)
	case v.lanes == 16:
		v.VMOVUPS(from, reg.K1, to)
	default:
		v.VMASKMOVPS(from, tailMask, to)
	}
}

// keep emits code that replaces the lanes of x outside the mask with the lanes of other.
func (v *vec) keep(x, other reg.VecPhysical) {
	if v.lanes == 16 {
		v.VBLENDMPS(x, other, reg.K1, x)
	} else {
		v.VBLENDVPS(tailMask, x, other, x)
	}
}

// zero emits code that clears the lanes of x outside the mask.
func (v *vec) zero(x reg.VecPhysical) {
	if v.lanes == 16 {
		v.VMOVAPS_Z(x, reg.K1, x)
	} else {
		v.VANDPS(tailMask, x, x)
	}
}

// fold emits code that combines all lanes of acc with op and leaves the result in the lowest lane. It clobbers tmp.
func (v *vec) fold(acc, tmp reg.VecPhysical, op func(a, b, dst operand.Op)) {
	if v.lanes == 16 {
		v.VEXTRACTF64X4(operand.Imm(1), acc, tmp.AsY())
		op(tmp.AsY(), acc.AsY(), acc.AsY())
	}
	v.VEXTRACTF128(operand.Imm(1), acc.AsY(), tmp.AsX())
	op(tmp.AsX(), acc.AsX(), acc.AsX())
	v.VPERMILPS(operand.Imm(0x4e), acc.AsX(), tmp.AsX())
	op(tmp.AsX(), acc.AsX(), acc.AsX())
	v.VPERMILPS(operand.Imm(0xb1), acc.AsX(), tmp.AsX())
	op(tmp.AsX(), acc.AsX(), acc.AsX())
}

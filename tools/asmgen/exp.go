package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The exponential is computed as exp(x) = 2ⁿ·exp(r) with n = round(x/ln 2) and r = x - n·ln 2. For |r| ≤ ln 2 / 2,
// exp(r) = 1 + r + r²·P(r). The split of ln 2 and the coefficients of P are those of expf in Moshier's Cephes library
// (netlib.org/cephes, single/expf.c). The error of the result is at most two units in the last place.
const (
	log2e = 1.44269504088896341
	ln2Hi = 0.693359375
	ln2Lo = -2.12194440e-4
)

var expPoly = []float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}

// exp emits code that replaces x by exp(x). It clobbers n, p and s. If the exact result is smaller than the smallest
// normal number, the code returns 0.
func (v *vec) exp(x, n, p, s reg.VecPhysical) {
	if v.lanes == 16 {
		// The clamp only keeps r finite. The instruction VSCALEFPS below saturates without a clamp.
		v.VMAXPS(v.float("expLo", -200), x, x)
		v.VMINPS(v.float("expHi", 200), x, x)
		v.VMULPS(v.float("log2e", log2e), x, n)
		v.VRNDSCALEPS(operand.Imm(0), n, n)
	} else {
		v.VCMPPS(operand.Imm(13), v.float("expLo", -87.336544), x, s) // x ≥ lowest
		v.VMAXPS(v.float("expLo", -87.336544), x, x)
		v.VMINPS(v.float("expHi", 88), x, x)
		v.VMULPS(v.float("log2e", log2e), x, n)
		v.VROUNDPS(operand.Imm(0), n, n)
	}
	v.VFNMADD231PS(v.float("ln2Hi", ln2Hi), n, x)
	v.VFNMADD231PS(v.float("ln2Lo", ln2Lo), n, x)
	v.VMOVUPS(v.float("exp0", expPoly[0]), p)
	for i, c := range expPoly[1:] {
		v.VFMADD213PS(v.float(fmt.Sprintf("exp%d", i+1), c), x, p)
	}
	one := v.float("one", 1)
	if v.lanes == 16 {
		v.VMULPS(x, x, s)
		v.VFMADD213PS(x, s, p) // p·r² + r
		v.VADDPS(one, p, p)
		v.VSCALEFPS(n, p, x)
		return
	}
	v.VFMADD213PS(one, x, p) // (p·r + 1)·r + 1
	v.VFMADD213PS(one, x, p)
	v.VCVTPS2DQ(n, n)
	v.VPSLLD(operand.Imm(23), n, n)
	v.VPADDD(n, p, x)
	v.VANDPS(s, x, x)
}

func (v *vec) siluMul() {
	r, b := v.regs, v.bytes()
	v.function("siluMul"+v.suffix, "(dst, gate, up *float32, n int)", "sets dst = gate / (1 + exp(-gate)) · up.")
	v.begin("dst", "gate", "up")
	v.each(3, 1, func(u int, tail bool) {
		v.load(mem(ptrs[1], u*b), r[0], tail)
		v.VXORPS(r[1].AsX(), r[1].AsX(), r[1].AsX())
		v.VSUBPS(r[0], r[1], r[1])
		v.exp(r[1], r[2], r[3], r[4])
		v.VADDPS(v.float("one", 1), r[1], r[1])
		v.VDIVPS(r[1], r[0], r[0])
		v.load(mem(ptrs[2], u*b), r[1], tail)
		v.VMULPS(r[1], r[0], r[0])
		v.store(r[0], mem(ptrs[0], u*b), tail)
	})
	v.end()
}

func (v *vec) expSum() {
	r, b := v.regs, v.bytes()
	sum, by, sub := r[5], r[6], r[7]
	v.function("expSum"+v.suffix, "(x *float32, n int, by float32, sub float32) float32", "sets x = exp(x·by - sub) and returns the sum.")
	v.begin("x")
	v.broadcast("by", by)
	v.broadcast("sub", sub)
	v.VXORPS(sum.AsX(), sum.AsX(), sum.AsX())
	v.each(1, 1, func(u int, tail bool) {
		v.load(mem(ptrs[0], u*b), r[0], tail)
		v.VFMSUB213PS(sub, by, r[0])
		v.exp(r[0], r[1], r[2], r[3])
		if tail {
			v.zero(r[0])
		}
		v.VADDPS(r[0], sum, sum)
		v.store(r[0], mem(ptrs[0], u*b), tail)
	})
	v.fold(sum, r[0], wrap3(v.VADDPS))
	v.end3(sum)
}

// round emits code that rounds the float32 in each lane of x to bf16 in the low half of the lane. It clobbers t and u.
// The code adds 0x7fff and the lowest kept bit, and drops the lower half. A NaN stays a NaN but may lose its payload.
// The result is bit-identical to tensor.ToBF16.
func (v *vec) round(x, t, u reg.VecPhysical) {
	v.VPSRLD(operand.Imm(16), x, t)
	quiet := v.constant("quietNaN", 0x40)
	bias := v.constant("bias", 0x7fff)
	lowest := v.constant("lowest", 1)
	if v.lanes == 16 {
		v.VPANDD(lowest, t, u)
		v.VCMPPS(operand.Imm(3), x, x, reg.K2) // unordered
		v.VPADDD(bias, u, u)
		v.VPADDD(u, x, u)
		v.VPSRLD(operand.Imm(16), u, u)
		v.VPORD(quiet, t, reg.K2, u)
		v.VMOVAPS(u, x)
		return
	}
	v.VPAND(lowest, t, u)
	v.VPADDD(bias, u, u)
	v.VPADDD(u, x, u)
	v.VPSRLD(operand.Imm(16), u, u)
	v.VPOR(quiet, t, t)
	v.VCMPPS(operand.Imm(3), x, x, x)
	v.VBLENDVPS(x, t, u, x)
}

// bf16Masked emits the conversions for AVX-512, which can also mask 16-bit lanes.
func (v *vec) bf16Masked() {
	r := v.regs
	v.function("encodeBF16AVX512", "(dst *uint16, src *float32, n int)", "rounds src to bf16.")
	v.begin("dst", "src")
	v.halves(func(tail bool) {
		v.load(mem(ptrs[1], 0), r[0], tail)
		v.round(r[0], r[1], r[2])
		if tail {
			v.VPMOVDW(r[0], reg.K1, mem(ptrs[0], 0))
		} else {
			v.VPMOVDW(r[0], mem(ptrs[0], 0))
		}
	}, true)
	v.function("decodeBF16AVX512", "(dst *float32, src *uint16, n int)", "widens src.")
	v.begin("dst", "src")
	v.halves(func(tail bool) {
		if tail {
			v.VPMOVZXWD_Z(mem(ptrs[1], 0), reg.K1, r[0])
		} else {
			v.VPMOVZXWD(mem(ptrs[1], 0), r[0])
		}
		v.VPSLLD(operand.Imm(16), r[0], r[0])
		v.store(r[0], mem(ptrs[0], 0), tail)
	}, false)
}

// bf16Whole emits the conversions for AVX2. This code converts only multiples of eight elements.
func (v *vec) bf16Whole() {
	r := v.regs
	v.function("encodeBF16AVX2", "(dst *uint16, src *float32, n int)", "rounds src to bf16; n is a multiple of 8.")
	v.begin("dst", "src")
	v.halves(func(bool) {
		v.VMOVUPS(mem(ptrs[1], 0), r[0])
		v.round(r[0], r[1], r[2])
		v.VEXTRACTF128(operand.Imm(1), r[0], r[1].AsX())
		v.VPACKUSDW(r[1].AsX(), r[0].AsX(), r[0].AsX())
		v.VMOVUPS(r[0].AsX(), mem(ptrs[0], 0))
	}, true)
	v.function("decodeBF16AVX2", "(dst *float32, src *uint16, n int)", "widens src; n is a multiple of 8.")
	v.begin("dst", "src")
	v.halves(func(bool) {
		v.VPMOVZXWD(mem(ptrs[1], 0), r[0])
		v.VPSLLD(operand.Imm(16), r[0], r[0])
		v.VMOVUPS(r[0], mem(ptrs[0], 0))
	}, false)
}

// halves emits the loop of a conversion, with one vector of floats per turn. If the instruction set can mask 16-bit
// lanes, a masked turn converts the remaining elements. If encode is set, the elements of the destination have 16 bits;
// otherwise the elements of the source have 16 bits.
func (v *vec) halves(body func(tail bool), encode bool) {
	dst, src := v.bytes(), v.bytes()/2
	if encode {
		dst, src = src, dst
	}
	v.SUBQ(operand.U32(v.lanes), length)
	v.JLT(operand.LabelRef("tail"))
	v.Label("one")
	body(false)
	v.ADDQ(operand.U32(dst), ptrs[0])
	v.ADDQ(operand.U32(src), ptrs[1])
	v.SUBQ(operand.U32(v.lanes), length)
	v.JGE(operand.LabelRef("one"))
	v.Label("tail")
	if v.lanes == 16 {
		v.ADDQ(operand.U32(v.lanes), length)
		v.JEQ(operand.LabelRef("done"))
		v.setTail(length)
		body(true)
		v.Label("done")
	}
	v.end()
}

package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var (
	ptrs   = []reg.GPPhysical{reg.RDI, reg.RSI, reg.RDX, reg.R8}
	length = reg.R9
)

func mem(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// begin emits code that loads the pointers and the length, which are the first parameters of an operation.
func (v *vec) begin(names ...string) {
	for i, n := range names {
		v.Load(v.Param(n), ptrs[i])
	}
	v.Load(v.Param("n"), length)
}

// broadcast emits code that loads a float parameter into all lanes.
func (v *vec) broadcast(name string, to reg.VecPhysical) {
	b, err := v.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v.VBROADCASTSS(b.Addr, to)
}

// each emits the loop of an operation over nptr operands. A turn of the loop handles unroll vectors. Single vectors
// follow, and a masked vector for the remaining elements is last. body emits the code for the u-th vector of a turn.
func (v *vec) each(nptr, unroll int, body func(u int, tail bool)) {
	loop := func(name, next string, n int) {
		if n > 1 || unroll == 1 {
			v.SUBQ(operand.U32(n*v.lanes), length)
		}
		v.JLT(operand.LabelRef(next))
		v.Label(name)
		for u := range n {
			body(u, false)
		}
		for _, p := range ptrs[:nptr] {
			v.ADDQ(operand.U32(n*v.bytes()), p)
		}
		v.SUBQ(operand.U32(n*v.lanes), length)
		v.JGE(operand.LabelRef(name))
		v.Label(next)
	}
	if unroll > 1 {
		loop("many", "few", unroll)
		v.ADDQ(operand.U32(uint64((unroll-1)*v.lanes)), length)
	}
	loop("one", "tail", 1)
	v.ADDQ(operand.U32(v.lanes), length)
	v.JEQ(operand.LabelRef("done"))
	v.setTail(length)
	body(0, true)
	v.Label("done")
}

func (v *vec) end() {
	v.VZEROUPPER()
	v.RET()
}

// result emits code that returns the lowest lane of r.
func (v *vec) result(r reg.VecPhysical) {
	b, err := v.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	v.VMOVSS(r.AsX(), b.Addr)
}

// vectors emits the vector operations.
func vectors(g *gen, set isa) {
	v := &vec{gen: g, isa: set, consts: map[string]operand.Mem{}}
	v.elementwise()
	v.reductions()
	v.rope()
	v.siluMul()
	v.expSum()
	if set.lanes == 16 {
		v.bf16Masked()
	} else {
		v.bf16Whole()
	}
}

func (v *vec) elementwise() {
	r, b := v.regs, v.bytes()
	v.function("add"+v.suffix, "(dst, a, b *float32, n int)", "sets dst = a + b.")
	v.begin("dst", "a", "b")
	v.each(3, 1, func(u int, tail bool) {
		v.load(mem(ptrs[1], u*b), r[0], tail)
		v.load(mem(ptrs[2], u*b), r[1], tail)
		v.VADDPS(r[1], r[0], r[0])
		v.store(r[0], mem(ptrs[0], u*b), tail)
	})
	v.end()

	v.function("axpy"+v.suffix, "(dst, x *float32, n int, a float32)", "adds a·x to dst.")
	v.begin("dst", "x")
	v.broadcast("a", r[2])
	v.each(2, 1, func(u int, tail bool) {
		v.load(mem(ptrs[0], u*b), r[0], tail)
		v.load(mem(ptrs[1], u*b), r[1], tail)
		v.VFMADD231PS(r[1], r[2], r[0])
		v.store(r[0], mem(ptrs[0], u*b), tail)
	})
	v.end()

	v.function("scale"+v.suffix, "(x *float32, n int, s float32)", "multiplies x by s.")
	v.begin("x")
	v.broadcast("s", r[1])
	v.each(1, 1, func(u int, tail bool) {
		v.load(mem(ptrs[0], u*b), r[0], tail)
		v.VMULPS(r[1], r[0], r[0])
		v.store(r[0], mem(ptrs[0], u*b), tail)
	})
	v.end()

	v.function("mulScale"+v.suffix, "(dst, x, w *float32, n int, s float32)", "sets dst = (x·s)·w.")
	v.begin("dst", "x", "w")
	v.broadcast("s", r[2])
	v.each(3, 1, func(u int, tail bool) {
		v.load(mem(ptrs[1], u*b), r[0], tail)
		v.load(mem(ptrs[2], u*b), r[1], tail)
		v.VMULPS(r[2], r[0], r[0])
		v.VMULPS(r[1], r[0], r[0])
		v.store(r[0], mem(ptrs[0], u*b), tail)
	})
	v.end()
}

func (v *vec) reductions() {
	const chains = 4
	r, b := v.regs, v.bytes()
	v.function("dot"+v.suffix, "(a, b *float32, n int) float32", "returns Σ a·b.")
	v.begin("a", "b")
	for i := range chains {
		v.VXORPS(r[i].AsX(), r[i].AsX(), r[i].AsX())
	}
	v.each(2, chains, func(u int, tail bool) {
		v.load(mem(ptrs[0], u*b), r[4], tail)
		v.load(mem(ptrs[1], u*b), r[5], tail)
		v.VFMADD231PS(r[4], r[5], r[u])
	})
	v.join(chains, wrap3(v.VADDPS))
	v.end3(r[0])

	v.function("max"+v.suffix, "(x *float32, n int) float32", "returns the largest element.")
	v.begin("x")
	for i := range chains {
		v.VMOVUPS(v.constant("minusInf", 0xff800000), r[i])
	}
	v.VMOVUPS(r[0], r[5])
	v.each(1, chains, func(u int, tail bool) {
		v.load(mem(ptrs[0], u*b), r[4], tail)
		if tail {
			v.keep(r[4], r[5])
		}
		v.VMAXPS(r[4], r[u], r[u])
	})
	v.join(chains, wrap3(v.VMAXPS))
	v.end3(r[0])
}

// join emits code that combines all lanes of the first n registers with op and leaves the result in the lowest lane of
// the first register.
func (v *vec) join(n int, op func(a, b, dst operand.Op)) {
	r := v.regs
	for n > 1 {
		n /= 2
		for i := range n {
			op(r[i+n], r[i], r[i])
		}
	}
	v.fold(r[0], r[4], op)
}

func (v *vec) end3(r reg.VecPhysical) {
	v.result(r)
	v.end()
}

// wrap3 converts an instruction's variadic method to a function of three operands.
func wrap3(f func(...operand.Op)) func(a, b, dst operand.Op) {
	return func(a, b, dst operand.Op) { f(a, b, dst) }
}

func (v *vec) rope() {
	r, by := v.regs, v.bytes()
	v.function("rope"+v.suffix, "(a, b, cos, sin *float32, n int)", "rotates the pairs (a[i], b[i]) in place.")
	v.begin("a", "b", "cos", "sin")
	v.each(4, 1, func(u int, tail bool) {
		for i, p := range ptrs {
			v.load(mem(p, u*by), r[i], tail)
		}
		v.VMULPS(r[3], r[1], r[4]) // b·sin
		v.VMULPS(r[3], r[0], r[5]) // a·sin
		v.VFMSUB231PS(r[0], r[2], r[4])
		v.VFMADD231PS(r[1], r[2], r[5])
		v.store(r[4], mem(ptrs[0], u*by), tail)
		v.store(r[5], mem(ptrs[1], u*by), tail)
	})
	v.end()
}

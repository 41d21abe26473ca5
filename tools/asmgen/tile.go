package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Registers that all tiles use for the same purpose.
var (
	yPtr, xPtr, wPtr = reg.RDI, reg.RSI, reg.RDX
	ldy, ldx, ldw    = reg.R8, reg.R9, reg.R10 // distances in bytes
	kLen, rows       = reg.R11, reg.R12
	wAt, xAt, xAt3   = reg.RAX, reg.RBX, reg.RCX // cursors; xAt3 is three rows ahead
	count            = reg.R13
	strip            = reg.R14
	ahead            = reg.R15 // distance in bytes from the current weights to the weights to prefetch
	spare            = reg.R14 // free in AVX-512 code, which has no strips
)

const (
	maxRows    = 6
	panelBytes = 64 * 4
)

const tileSignature = "(y *float32, ldy int, x *float32, ldx int, w *float32, ldw int, k int, n int, add bool, ahead int)"

// tileFunc emits a tile function: a loop over groups of at most six rows. body emits the code for each possible number
// of rows in a group.
func (g *gen) tileFunc(name, doc string, body func(m int, label func(string) string)) {
	g.function(name, tileSignature, doc)
	for _, p := range []struct {
		name string
		r    reg.Register
	}{{"y", yPtr}, {"ldy", ldy}, {"x", xPtr}, {"ldx", ldx}, {"w", wPtr}, {"ldw", ldw}, {"k", kLen}, {"n", rows}} {
		g.Load(g.Param(p.name), p.r)
	}
	for _, r := range []reg.GPPhysical{ldy, ldx, ldw} {
		g.SHLQ(operand.Imm(2), r)
	}
	g.Label("next")
	g.CMPQ(rows, operand.Imm(maxRows))
	g.JGE(operand.LabelRef("rows6"))
	for m := maxRows - 1; m >= 1; m-- {
		g.CMPQ(rows, operand.Imm(uint64(m)))
		g.JEQ(operand.LabelRef(fmt.Sprintf("rows%d", m)))
	}
	g.Label("end")
	g.VZEROUPPER()
	g.RET()
	for m := maxRows; m >= 1; m-- {
		label := func(s string) string { return fmt.Sprintf("%s%d", s, m) }
		g.Label(label("rows"))
		body(m, label)
		if m < maxRows {
			g.JMP(operand.LabelRef("end"))
			continue
		}
		for range maxRows {
			g.ADDQ(ldy, yPtr)
			g.ADDQ(ldx, xPtr)
		}
		g.SUBQ(operand.U32(maxRows), rows)
		g.JMP(operand.LabelRef("next"))
	}
}

// rowAddr returns the address disp bytes after the start of row i < 6 of a matrix. The first row is at base, the fourth
// row is at base3, and rows are ld bytes apart.
func rowAddr(base, base3, ld reg.Register, i, disp int) operand.Mem {
	a := operand.Mem{Base: base, Disp: disp}
	if i >= 3 {
		a.Base, i = base3, i-3
	}
	if i > 0 {
		a.Index, a.Scale = ld, uint8(i)
	}
	return a
}

// third emits dst = base + 3·ld, if a tile of m rows needs this address.
func (g *gen) third(m int, base, ld, dst reg.GPPhysical) {
	if m > 3 {
		g.LEAQ(operand.Mem{Base: base, Index: ld, Scale: 2}, dst)
		g.ADDQ(ld, dst)
	}
}

// accumulators emits the beginning of a tile. This code sets the sums to zero or to the values of y.
func (g *gen) accumulators(m, vecs, width int, acc func(i, v int) reg.VecPhysical, label func(string) string) {
	g.third(m, yPtr, ldy, xAt3)
	g.Load(g.Param("add"), count.As8())
	g.TESTB(count.As8(), count.As8())
	g.JNE(operand.LabelRef(label("add")))
	for i := range m {
		for v := range vecs {
			r := acc(i, v)
			if width == 64 {
				g.VPXORD(r, r, r)
			} else {
				g.VXORPS(r, r, r)
			}
		}
	}
	g.JMP(operand.LabelRef(label("start")))
	g.Label(label("add"))
	for i := range m {
		for v := range vecs {
			g.VMOVUPS(rowAddr(yPtr, xAt3, ldy, i, v*width), acc(i, v))
		}
	}
	g.Label(label("start"))
	g.MOVQ(wPtr, wAt)
	g.MOVQ(xPtr, xAt)
	g.third(m, xPtr, ldx, xAt3)
	g.MOVQ(kLen, count)
	g.Load(g.Param("ahead"), ahead)
}

// store emits the end of a tile. This code writes the sums to y.
func (g *gen) store(m, vecs, width int, acc func(i, v int) reg.VecPhysical) {
	g.third(m, yPtr, ldy, xAt3)
	for i := range m {
		for v := range vecs {
			g.VMOVUPS(acc(i, v), rowAddr(yPtr, xAt3, ldy, i, v*width))
		}
	}
}

// loop emits a loop over count. A turn of the loop has unroll steps, and the remaining steps follow one by one. step
// emits the u-th step of a turn. At the end of a turn, the code of loop moves the cursor of x by xBytes per step. The
// code of step moves the cursor of w.
func (g *gen) loop(m, unroll, xBytes int, label func(string) string, step func(u int)) {
	turn := func(n int) {
		for u := range n {
			step(u)
		}
		g.ADDQ(operand.U32(n*xBytes), xAt)
		if m > 3 {
			g.ADDQ(operand.U32(n*xBytes), xAt3)
		}
	}
	g.SUBQ(operand.U32(unroll), count)
	g.JLT(operand.LabelRef(label("rest")))
	g.Label(label("loop"))
	turn(unroll)
	g.SUBQ(operand.U32(unroll), count)
	g.JGE(operand.LabelRef(label("loop")))
	g.Label(label("rest"))
	g.ADDQ(operand.U32(unroll), count)
	g.JEQ(operand.LabelRef(label("done")))
	g.Label(label("one"))
	turn(1)
	g.DECQ(count)
	g.JNE(operand.LabelRef(label("one")))
	g.Label(label("done"))
}

// oddColumn emits, after a loop over pairs, the code for a single last column.
func (g *gen) oddColumn(label func(string) string, half func()) {
	g.TESTQ(operand.U32(1), kLen)
	g.JEQ(operand.LabelRef(label("even")))
	half()
	g.Label(label("even"))
}

package tensor

import (
	"fmt"
	"sync"
	"unsafe"
)

// Blocking of a product. A block of weights, kBlock columns of one panel, is
// used by all tiles of rows while it sits in the first or second level cache;
// rowBlock rows of activations stay in the second level meanwhile.
const (
	tileRows   = 6
	kBlock     = 128
	rowBlock   = 192
	scratchLen = rowBlock * 512 // words for the rounded activations of a row block
)

// Abreast is the number of panels that the product with a single row reads side
// by side where the CPU has registers for it: what [Matrix.Mul] is given should
// be a multiple then.
const Abreast = 4

// scratch holds activations rounded to bf16: pairs where the CPU multiplies
// pairs, else float32.
type scratch [scratchLen]float32

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Mul computes, for the n rows x[i*ldx:] of Cols activations and the outputs r
// of the panels lo ≤ p < hi,
//
//	y[i*ldy+r] = Σ_c x[i*ldx+c] · W[r][c]
//
// where panel p holds the outputs 64p … 64p+63. It writes nothing else: not
// the other panels' outputs and nothing past Rows. So a pool of workers can
// share one product by ranges of panels. It is best to hand out several panels
// at once: BF16Dot rounds x once a call.
func (m *Matrix) Mul(y []float32, ldy int, x []float32, ldx, n, lo, hi int) {
	if n <= 0 || lo >= hi {
		return
	}
	if lo < 0 || hi > m.Panels() {
		panic(fmt.Sprintf("tensor: panels %d to %d of %d", lo, hi, m.Panels()))
	}
	checkRows("x", len(x), ldx, n, m.Cols)
	checkRows("y", len(y), ldy, n, min(hi*PanelRows, m.Rows))
	level := Current()
	for i := 0; i < n; i += rowBlock {
		m.mulRows(level, y[i*ldy:], ldy, x[i*ldx:], ldx, min(rowBlock, n-i), lo, hi)
	}
}

// checkRows panics unless n rows of width elements, ld apart, fit into have
// elements: the kernels check no bounds.
func checkRows(name string, have, ld, n, width int) {
	if n > 1 && ld < width || have < (n-1)*ld+width {
		panic(fmt.Sprintf("tensor: %s has %d elements; %d rows of %d, %d apart, do not fit", name, have, n, width, ld))
	}
}

// mulRows is Mul for at most rowBlock rows.
func (m *Matrix) mulRows(level Level, y []float32, ldy int, x []float32, ldx, n, lo, hi int) {
	if m.Format != BF16Dot {
		m.mulCols(level, m.Format, y, ldy, unsafe.SliceData(x), ldx, n, lo, hi, 0, m.Cols)
		return
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	if level < AVX512BF16 { // the same products by widened numbers
		step := min(scratchLen/n&^1, m.Cols)
		for k := 0; k < m.Cols; k += step {
			kn := min(step, m.Cols-k)
			for i := range n {
				roundBF16(s[i*step:i*step+kn], x[i*ldx+k:])
			}
			m.mulCols(level, BF16, y, ldy, &s[0], step, n, lo, hi, k, kn)
		}
		return
	}
	half := unsafe.Slice((*uint16)(unsafe.Pointer(s)), 2*scratchLen)
	step := min(2*scratchLen/n&^1, m.Cols+m.Cols&1)
	for k := 0; k < m.Cols; k += step {
		kn := min(step, m.Cols-k)
		for i := range n {
			row := half[i*step:]
			encodeBF16(level, row[:kn], x[i*ldx+k:][:kn])
			if kn&1 == 1 {
				row[kn] = 0
			}
		}
		m.mulCols(level, BF16Dot, y, ldy, &s[0], step/2, n, lo, hi, k, kn)
	}
}

// mulCols adds (or, for the first columns, sets) the products of the columns
// k0 … k0+kn-1. x points at column k0 of the first row; for BF16Dot it holds
// pairs and ldx counts them.
func (m *Matrix) mulCols(level Level, f Format, y []float32, ldy int, x *float32, ldx, n, lo, hi, k0, kn int) {
	step := kBlock
	switch {
	case n <= tileRows && level != AVX2:
		step = kn // one pass over the weights: nothing to keep in a cache
	case n > 3*tileRows && f == BF16Dot:
		step = 2 * kBlock // few rows gain more from fetching the next block early
	}
	for p := lo; p < hi; {
		rows, took := min(PanelRows, m.Rows-p*PanelRows), 1
		for k := 0; k < kn; k += step {
			t := tile{
				x: x, ldx: ldx, n: n,
				k: min(step, kn-k), ldw: PanelRows,
				y: &y[p*PanelRows], ldy: ldy, add: k0+k > 0,
			}
			at := p * m.panelSize()
			if f == F32 {
				t.w = &m.f32[at+(k0+k)*PanelRows]
			} else {
				t.w = (*float32)(unsafe.Pointer(&m.pairs[at+(k0+k)/2*PanelRows]))
			}
			xk := k
			if f == BF16Dot {
				xk /= 2
			}
			t.x = ptrAdd(x, xk)
			if rows == PanelRows {
				took = t.runPanels(level, f, m.panelSize(), min(hi, m.Rows/PanelRows)-p)
			} else {
				t.runNarrow(level, f, rows)
			}
		}
		p += took
	}
}

// tile is one call of a kernel: n rows by 64 outputs over k columns.
type tile struct {
	y   *float32 // n rows of 64, ldy apart
	ldy int
	x   *float32 // n rows of k (BF16Dot: pairs), ldx apart
	ldx int
	w   *float32 // k rows (bf16: pairs) of 64 words, ldw apart
	ldw int
	k   int
	n   int
	add bool // to what y holds
}

// runNarrow runs the tile for a panel of fewer than 64 outputs, by way of a
// buffer, so that nothing beside them is read or written.
func (t tile) runNarrow(level Level, f Format, width int) {
	var buf [tileRows * PanelRows]float32
	for i := 0; i < t.n; i += tileRows {
		part := t
		part.n = min(tileRows, t.n-i)
		part.x = ptrAdd(t.x, i*t.ldx)
		part.y, part.ldy = &buf[0], PanelRows
		for j := range part.n {
			row := unsafe.Slice(ptrAdd(t.y, (i+j)*t.ldy), width)
			if t.add {
				copy(buf[j*PanelRows:], row)
			}
		}
		part.run(level, f)
		for j := range part.n {
			copy(unsafe.Slice(ptrAdd(t.y, (i+j)*t.ldy), width), buf[j*PanelRows:])
		}
	}
}

func ptrAdd(p *float32, n int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n))
}

// roundBF16 writes src[:len(dst)], rounded to bf16, as float32.
func roundBF16(dst, src []float32) {
	for i := range dst {
		dst[i] = FromBF16(ToBF16(src[i]))
	}
}

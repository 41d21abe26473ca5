package tensor

import (
	"fmt"
	"sync"
	"unsafe"
)

// Block sizes of a product. A block of weights is kBlock columns of one panel. All tiles of rows use this block while
// it is in the first- or second-level cache. At the same time, rowBlock rows of activations stay in the second-level
// cache.
const (
	tileRows   = 6
	kBlock     = 128
	rowBlock   = 192
	scratchLen = rowBlock * 512 // number of words for the rounded activations of a row block
)

// scratch holds activations rounded to bf16. They are stored as pairs if the CPU multiplies pairs, and otherwise as
// float32.
type scratch [scratchLen]float32

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Mul computes, for the n rows x[i*ldx:] of Cols activations and the outputs r of the panels lo ≤ p < hi,
//
//	y[i*ldy+r] = Σ_c x[i*ldx+c] · W[r][c]
//
// where panel p holds the outputs 64p … 64p+63. Mul writes no outputs of other panels and no outputs beyond Rows.
// Therefore several workers can share one product if each worker computes a separate range of panels.
func (m *Matrix) Mul(y []float32, ldy int, x []float32, ldx, n, lo, hi int) {
	m.MulEach(y, ldy, x, ldx, n, func() (int, int) {
		at := lo
		lo = hi
		return at, hi
	})
}

// MulEach computes the outputs of each range of panels that next returns, until next returns an empty range. For
// BF16Dot it rounds x only once for all ranges, unless x is very large.
func (m *Matrix) MulEach(y []float32, ldy int, x []float32, ldx, n int, next func() (lo, hi int)) {
	if n <= 0 {
		return
	}
	checkRows("x", len(x), ldx, n, m.Cols)
	level := Current()
	var s *scratch
	if m.Format == BF16Dot {
		s = scratches.Get().(*scratch)
		defer scratches.Put(s)
	}
	for first := true; ; first = false {
		lo, hi := next()
		if lo >= hi {
			return
		}
		if lo < 0 || hi > m.Panels() {
			panic(fmt.Sprintf("tensor: panels %d to %d of %d", lo, hi, m.Panels()))
		}
		checkRows("y", len(y), ldy, n, min(hi*PanelRows, m.Rows))
		for i := 0; i < n; i += rowBlock {
			rows := min(rowBlock, n-i)
			if s == nil {
				m.mulCols(level, m.Format, y[i*ldy:], ldy, &x[i*ldx], ldx, rows, lo, hi, 0, m.Cols)
				continue
			}
			step := min(s.columns(level, rows), m.Cols+m.Cols&1)
			for k := 0; k < m.Cols; k += step {
				kn := min(step, m.Cols-k)
				if first || n > rowBlock || step < m.Cols {
					s.round(level, x[i*ldx+k:], ldx, rows, kn, step)
				}
				if level < AVX512BF16 {
					m.mulCols(level, BF16, y[i*ldy:], ldy, &s[0], step, rows, lo, hi, k, kn)
				} else {
					m.mulCols(level, BF16Dot, y[i*ldy:], ldy, &s[0], step/2, rows, lo, hi, k, kn)
				}
			}
		}
	}
}

// columns returns the number of columns of n rounded rows that fit in the scratch. The result is even.
func (s *scratch) columns(level Level, n int) int {
	if level < AVX512BF16 {
		return len(s) / n &^ 1
	}
	return 2 * len(s) / n &^ 1
}

// round fills the scratch with n rows of kn columns of x, rounded to bf16, with a distance of step between rows. The
// rounded activations are stored as pairs or, if the CPU does not multiply pairs, as float32.
func (s *scratch) round(level Level, x []float32, ldx, n, kn, step int) {
	half := unsafe.Slice((*uint16)(unsafe.Pointer(s)), 2*len(s))
	for i := range n {
		if level < AVX512BF16 {
			roundBF16(s[i*step:i*step+kn], x[i*ldx:])
			continue
		}
		row := half[i*step:]
		encodeBF16(level, row[:kn], x[i*ldx:][:kn])
		if kn&1 == 1 {
			row[kn] = 0
		}
	}
}

// checkRows panics unless n rows of width elements, which are ld apart, fit into a slice of have elements. The check is
// necessary because the kernels check no bounds.
func checkRows(name string, have, ld, n, width int) {
	if n > 1 && ld < width || have < (n-1)*ld+width {
		panic(fmt.Sprintf("tensor: %s has %d elements; %d rows of %d, %d apart, do not fit", name, have, n, width, ld))
	}
}

// mulCols adds the products of the columns k0 … k0+kn-1 to the outputs. For the first columns it sets the outputs
// instead. x points at column k0 of the first row. For BF16Dot, x contains pairs, and ldx is the number of pairs.
func (m *Matrix) mulCols(level Level, f Format, y []float32, ldy int, x *float32, ldx, n, lo, hi, k0, kn int) {
	step := kBlock
	switch {
	case n <= tileRows && level != AVX2:
		step = kn // one pass over the weights: nothing to cache
	case n >= 2*tileRows && f == BF16Dot:
		step = 4 * kBlock // stores y less often; with few rows, an earlier prefetch of the next block would gain more
	}
	for p := lo; p < hi; p++ {
		rows, at := min(PanelRows, m.Rows-p*PanelRows), p*m.panelSize()
		for k := 0; k < kn; k += step {
			t := tile{
				x: x, ldx: ldx, n: n,
				k: min(step, kn-k), ldw: PanelRows,
				y: &y[p*PanelRows], ldy: ldy, add: k0+k > 0,
			}
			if f == F32 {
				t.w = &m.f32[at+(k0+k)*PanelRows]
			} else {
				t.w = (*float32)(unsafe.Pointer(&m.pairs[at+(k0+k)/2*PanelRows]))
			}
			t.ahead = t.next(f)
			xk := k
			if f == BF16Dot {
				xk /= 2
			}
			t.x = ptrAdd(x, xk)
			if rows == PanelRows {
				t.run(level, f)
			} else {
				t.runNarrow(level, f, rows)
			}
		}
	}
}

// tile describes one call of a kernel, which computes n rows by 64 outputs over k columns.
type tile struct {
	y   *float32 // n rows of 64 outputs, ldy apart
	ldy int
	x   *float32 // n rows of k (BF16Dot: pairs), ldx apart
	ldx int
	w   *float32 // k rows (bf16: pairs) of 64 words, ldw apart
	ldw int
	k   int
	n   int
	add bool // add the products to y instead of setting y
	// ahead is the distance in bytes from w to the data that will be read next. The kernel prefetches that data into
	// the second-level cache.
	ahead int
}

// next returns the value of ahead for a tile whose weights are directly followed in memory by the next weights. A block
// that is too large for the nearest caches is read by only one tile. This tile prefetches only a short distance ahead.
func (t tile) next(f Format) int {
	const keeps, soon = 64 << 10, 2 << 10 // bytes; if soon is 4 kB or more, the conversion of bf16 waits for memory
	steps := t.k
	if f != F32 {
		steps /= 2
	}
	if block := 4 * steps * t.ldw; block <= keeps {
		return block
	}
	return soon
}

// runNarrow runs the tile for a panel of fewer than 64 outputs. It uses a buffer, so that no memory beyond the panel's
// outputs is read or written.
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

package tensor

import (
	"fmt"
	"unsafe"
)

// Format is the storage of a [Matrix]'s weights and the arithmetic of its products.
type Format uint8

const (
	F32     Format = iota // float32 weights and arithmetic
	BF16                  // bf16 weights, converted to float32; float32 activations and arithmetic
	BF16Dot               // bf16 weights, activations rounded to bf16, float32 sums
)

func (f Format) String() string {
	switch f {
	case F32:
		return "f32"
	case BF16:
		return "bf16"
	case BF16Dot:
		return "bf16dot"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// PanelRows is the number of output rows in one panel of a packed [Matrix], and the number of positions in one block of
// keys or values.
const PanelRows = 64

// Matrix is a weight matrix of Rows outputs by Cols inputs, packed in panels of 64 output rows; the last panel is
// padded with zeros. The tile reads a panel as one stream. For F32 a panel is [Cols][64] float32. For both bf16 formats
// a panel is [(Cols+1)/2][64] pairs. A pair is a uint32 that has the even column in the low half and the odd column in
// the high half. Therefore Format may be changed between BF16 and BF16Dot without packing again, but not while Mul
// runs.
type Matrix struct {
	Rows, Cols int
	Format     Format

	f32   []float32
	pairs []uint32
}

// Pack builds a matrix of rows × cols in format f. Pack calls row once for each output r, in rising order. row must
// fill dst, which has cols elements, with the weights of output r, and must not keep dst. The bf16 formats round the
// weights to nearest even.
func Pack(rows, cols int, f Format, row func(r int, dst []float32)) *Matrix {
	if rows < 1 || cols < 1 || f > BF16Dot {
		panic(fmt.Sprintf("tensor: pack %d×%d as %s", rows, cols, f))
	}
	m := &Matrix{Rows: rows, Cols: cols, Format: f}
	size := m.Panels() * m.panelSize()
	if f == F32 {
		m.f32 = aligned[float32](size)
	} else {
		m.pairs = aligned[uint32](size)
	}
	// Pack 16 rows at a time, because 16 rows fill complete cache lines of the panel.
	const group = 16
	even := cols + cols&1
	buf, half := make([]float32, group*cols), []uint16(nil)
	if f != F32 {
		half = make([]uint16, group*even)
	}
	for r := 0; r < rows; r += group {
		clear(buf)
		for i := range min(group, rows-r) {
			row(r+i, buf[i*cols:(i+1)*cols:(i+1)*cols])
		}
		at := r/PanelRows*m.panelSize() + r%PanelRows
		if f == F32 {
			packF32(m.f32[at:], buf, cols)
			continue
		}
		for i := range group {
			EncodeBF16(half[i*even:], buf[i*cols:(i+1)*cols])
		}
		packPairs(m.pairs[at:], half, even)
	}
	collapse(bytesOf(m.f32))
	collapse(bytesOf(m.pairs))
	return m
}

// packF32 writes 16 rows of src as 16 adjacent columns of a panel.
func packF32(dst, src []float32, cols int) {
	for k := range cols {
		d := (*[16]float32)(dst[k*PanelRows:])
		s := src[k:]
		for i := range d {
			d[i] = s[i*cols]
		}
	}
}

// packPairs writes 16 rows of src as 16 adjacent columns of a panel of bf16 pairs.
func packPairs(dst []uint32, src []uint16, cols int) {
	for k := 0; k < cols; k += 2 {
		d := (*[16]uint32)(dst[k/2*PanelRows:])
		s := src[k:]
		for i := range d {
			p := s[i*cols:]
			d[i] = uint32(p[0]) | uint32(p[1])<<16
		}
	}
}

// Panels returns the number of panels, Rows/64 rounded up.
func (m *Matrix) Panels() int { return (m.Rows + PanelRows - 1) / PanelRows }

// Bytes returns the memory of the packed weights in bytes.
func (m *Matrix) Bytes() int { return 4 * m.Panels() * m.panelSize() }

// Row writes the weights of output r, as stored, to dst, which must have at least Cols elements. With tied embeddings,
// Row is used to look up tokens in the packed head.
func (m *Matrix) Row(r int, dst []float32) {
	if uint(r) >= uint(m.Rows) {
		panic(fmt.Sprintf("tensor: row %d of %d", r, m.Rows))
	}
	dst = dst[:m.Cols]
	at := r/PanelRows*m.panelSize() + r%PanelRows
	if m.Format == F32 {
		for k := range dst {
			dst[k] = m.f32[at+k*PanelRows]
		}
		return
	}
	for k := range dst {
		dst[k] = FromBF16(uint16(m.pairs[at+k/2*PanelRows] >> (k % 2 * 16)))
	}
}

// panelSize returns the size of one panel in 4-byte words.
func (m *Matrix) panelSize() int {
	if m.Format == F32 {
		return m.Cols * PanelRows
	}
	return (m.Cols + 1) / 2 * PanelRows
}

// Zeros returns n zeros. Their memory is allocated in the same way as the memory of weights, so that it can be read at
// full memory speed.
func Zeros(n int) []float32 { return aligned[float32](n) }

// aligned returns n zeroed elements that start on a cache line, so that no vector load of a panel crosses a cache line.
func aligned[T float32 | uint32](n int) []T {
	const line = 64
	s := make([]T, n+line/4)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) % line / 4)
	s = s[off : off+n : off+n]
	largePages(bytesOf(s))
	return s
}

func bytesOf[T float32 | uint32](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
}

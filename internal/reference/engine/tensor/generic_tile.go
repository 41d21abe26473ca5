package tensor

import (
	"math"
	"unsafe"
)

// runGeneric is the tile in plain Go. Like the assembly, runGeneric adds the products of an output one by one in column
// order.
func (t tile) runGeneric(f Format) {
	switch f {
	case F32:
		t.runGenericF32()
	case BF16:
		// Convert a few columns at a time to float32, so that a single inner loop suffices for all formats.
		const cols = 32
		var wide [cols * PanelRows]float32
		for k := 0; k < t.k; k += cols {
			part := t
			part.k = min(cols, t.k-k)
			widenPairs(wide[:], unsafe.Slice((*uint32)(unsafe.Pointer(ptrAdd(t.w, k/2*t.ldw))), ((part.k+1)/2-1)*t.ldw+PanelRows), t.ldw, part.k)
			part.x = ptrAdd(t.x, k)
			part.w, part.ldw = &wide[0], PanelRows
			part.add = t.add || k > 0
			part.runGenericF32()
		}
	default:
		panic("tensor: bf16 pairs have no plain kernel") // scratch.round widens the pairs before
	}
}

// widenPairs converts k columns of bf16 pairs to [k][64] float32.
func widenPairs(dst []float32, src []uint32, ldw, k int) {
	for i := range k {
		d, s := dst[i*PanelRows:][:PanelRows], src[i/2*ldw:][:PanelRows]
		if i%2 == 0 {
			for j, v := range s {
				d[j] = math.Float32frombits(v << 16)
			}
		} else {
			for j, v := range s {
				d[j] = math.Float32frombits(v &^ 0xffff)
			}
		}
	}
}

func (t tile) runGenericF32() {
	if t.k == 0 {
		return
	}
	w := unsafe.Slice(t.w, (t.k-1)*t.ldw+PanelRows)
	i := 0
	for ; i+2 <= t.n; i += 2 {
		t.pair(w, t.row(i), t.row(i+1), t.out(i), t.out(i+1))
	}
	if i < t.n {
		t.single(w, t.row(i), t.out(i))
	}
}

func (t tile) row(i int) []float32 { return unsafe.Slice(ptrAdd(t.x, i*t.ldx), t.k) }

func (t tile) out(i int) *[PanelRows]float32 {
	return (*[PanelRows]float32)(unsafe.Pointer(ptrAdd(t.y, i*t.ldy)))
}

// pair computes two rows, four outputs at a time. The registers of amd64 have enough space for these eight sums.
func (t tile) pair(w, x0, x1 []float32, y0, y1 *[PanelRows]float32) {
	x1 = x1[:len(x0)]
	for j := 0; j < PanelRows; j += 4 {
		o0, o1 := (*[4]float32)(y0[j:]), (*[4]float32)(y1[j:])
		var a, b [4]float32
		if t.add {
			a, b = *o0, *o1
		}
		a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		at := j
		for k, p := range x0 {
			q := x1[k]
			v := (*[4]float32)(w[at:])
			at += t.ldw
			a0 += p * v[0]
			a1 += p * v[1]
			a2 += p * v[2]
			a3 += p * v[3]
			b0 += q * v[0]
			b1 += q * v[1]
			b2 += q * v[2]
			b3 += q * v[3]
		}
		*o0 = [4]float32{a0, a1, a2, a3}
		*o1 = [4]float32{b0, b1, b2, b3}
	}
}

// single computes one row, eight outputs at a time.
func (t tile) single(w, x []float32, y *[PanelRows]float32) {
	for j := 0; j < PanelRows; j += 8 {
		o := (*[8]float32)(y[j:])
		var a [8]float32
		if t.add {
			a = *o
		}
		a0, a1, a2, a3, a4, a5, a6, a7 := a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
		at := j
		for _, p := range x {
			v := (*[8]float32)(w[at:])
			at += t.ldw
			a0 += p * v[0]
			a1 += p * v[1]
			a2 += p * v[2]
			a3 += p * v[3]
			a4 += p * v[4]
			a5 += p * v[5]
			a6 += p * v[6]
			a7 += p * v[7]
		}
		*o = [8]float32{a0, a1, a2, a3, a4, a5, a6, a7}
	}
}

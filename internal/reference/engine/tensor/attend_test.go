package tensor

import (
	"fmt"
	"math"
	"testing"
)

// attention is a random KV cache with its queries.
type attention struct {
	hd, n, ldq     int
	lengths        []int
	keys, vals     [][]float32 // by position
	kblock, vblock [][]float32
	q              []float32
}

func newAttention(seed uint64, hd, positions, ldq int, lengths []int) attention {
	r := newRand(seed)
	a := attention{hd: hd, n: len(lengths), ldq: ldq, lengths: lengths, q: normals(r, len(lengths)*ldq)}
	for t := range positions {
		if t%BlockLen == 0 {
			k, v := make([]float32, hd*BlockLen), make([]float32, hd*BlockLen)
			for i := range k { // unstored positions must not matter
				k[i], v[i] = nan(), nan()
			}
			a.kblock, a.vblock = append(a.kblock, k), append(a.vblock, v)
		}
		k, v := normals(r, hd), normals(r, hd)
		a.keys, a.vals = append(a.keys, k), append(a.vals, v)
		StoreK(a.kblock[t/BlockLen], t%BlockLen, k)
		StoreV(a.vblock[t/BlockLen], t%BlockLen, v)
	}
	return a
}

// want computes row i in float64.
func (a attention) want(i int, scale float64) []float64 {
	q := a.q[i*a.ldq:]
	p := make([]float64, a.lengths[i])
	sum := 0.0
	for t := range p {
		for d, k := range a.keys[t] {
			p[t] += float64(q[d]) * float64(k)
		}
		p[t] = math.Exp(p[t] * scale)
		sum += p[t]
	}
	out := make([]float64, a.hd)
	for t := range p {
		for d, v := range a.vals[t] {
			out[d] += p[t] / sum * float64(v)
		}
	}
	return out
}

func TestAttendRows(t *testing.T) {
	ramp := func(from, n int) []int {
		l := make([]int, n)
		for i := range l {
			l[i] = from + i
		}
		return l
	}
	cases := []struct {
		name    string
		hd, ldq int
		lengths []int
	}{
		{"one position", 64, 64, []int{1}},
		{"one block", 64, 64, []int{64}},
		{"a block and one", 128, 128, []int{65}},
		{"grouped heads", 64, 64, []int{200, 200, 200, 200, 200, 200, 200}},
		{"prefill", 128, 512, ramp(1, 70)},
		{"prefill after a prefix", 64, 256, ramp(100, 30)},
		{"small heads", 16, 48, ramp(60, 8)},
		{"odd heads", 80, 80, []int{3, 130, 64}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			longest := 0
			for _, l := range c.lengths {
				longest = max(longest, l)
			}
			a := newAttention(7, c.hd, longest, c.ldq, c.lengths)
			scale := 1 / math.Sqrt(float64(c.hd))
			eachLevel(t, func(t *testing.T, _ Level) {
				ldo := c.hd + 5
				out := guarded(a.n * ldo)
				scratch := make([]float32, AttendScratch(a.n, longest))
				AttendRows(out, ldo, a.q, c.ldq, c.hd, a.kblock, a.vblock, c.lengths, float32(scale), scratch)
				for i := range a.n {
					for d, w := range a.want(i, scale) {
						// probabilities and values of order 1: a few roundings each
						near(t, fmt.Sprintf("row %d", i), d, float64(out[i*ldo+d]), w, 2e-6)
					}
					for d := c.hd; d < ldo; d++ {
						if out[i*ldo+d] != guard {
							t.Fatalf("row %d: wrote past the head", i)
						}
					}
					// and alone, with the same bits
					one := make([]float32, c.hd)
					AttendRows(one, c.hd, a.q[i*c.ldq:], c.hd, c.hd, a.kblock, a.vblock, c.lengths[i:i+1], float32(scale), scratch)
					sameBits(t, fmt.Sprintf("row %d alone", i), one, out[i*ldo:i*ldo+c.hd])
				}
			})
		})
	}
}

func TestAttendPanics(t *testing.T) {
	a := newAttention(8, 16, 70, 16, []int{70})
	out, scratch := make([]float32, 16), make([]float32, AttendScratch(1, 70))
	attend := func(kblocks, vblocks [][]float32, length int, scratch []float32) {
		AttendRows(out, 16, a.q, 16, 16, kblocks, vblocks, []int{length}, 1, scratch)
	}
	cases := map[string]func(){
		"no position":   func() { attend(a.kblock, a.vblock, 0, scratch) },
		"too few":       func() { attend(a.kblock, a.vblock, 129, make([]float32, 256)) },
		"small blocks":  func() { attend(a.kblock[:1], [][]float32{make([]float32, 64)}, 3, scratch) },
		"short scratch": func() { attend(a.kblock, a.vblock, 70, scratch[:127]) },
		"store":         func() { StoreK(a.kblock[0], 64, a.q) },
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

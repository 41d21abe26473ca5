package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// product is a random product with its exact result.
type product struct {
	m      *Matrix
	x      []float32
	ldx, n int
	want   []float64 // n × rows
	weight []float64 // Σ |x·w|, what rounding errors scale with
}

func newProduct(r *rand.Rand, f Format, rows, cols, n, ldx int) product {
	w := normals(r, rows*cols)
	p := product{
		m: Pack(rows, cols, f, func(i int, dst []float32) { copy(dst, w[i*cols:(i+1)*cols]) }),
		x: normals(r, (n-1)*ldx+cols), ldx: ldx, n: n,
		want: make([]float64, n*rows), weight: make([]float64, n*rows),
	}
	for i := range n {
		for o := range rows {
			for c := range cols {
				a, b := p.x[i*ldx+c], w[o*cols+c]
				if f != F32 {
					b = FromBF16(ToBF16(b))
				}
				if f == BF16Dot {
					a = FromBF16(ToBF16(a))
				}
				v := float64(a) * float64(b)
				p.want[i*rows+o] += v
				p.weight[i*rows+o] += math.Abs(v)
			}
		}
	}
	return p
}

// check compares y with the exact product. Sums of at most a few thousand
// float32 products in a row stay well within 1e-6 of Σ|x·w|.
func (p product) check(t *testing.T, y []float32, ldy int) {
	t.Helper()
	for i := range p.n {
		for o := range p.m.Rows {
			k := i*p.m.Rows + o
			near(t, fmt.Sprintf("row %d", i), o, float64(y[i*ldy+o]), p.want[k], 1e-6*p.weight[k])
		}
	}
}

func TestMul(t *testing.T) {
	shapes := []struct{ rows, cols, n int }{
		{64, 64, 1}, {1, 1, 1}, {63, 7, 2}, {65, 8, 3}, {128, 33, 4}, {200, 255, 5}, {64, 256, 6},
		{130, 257, 7}, {64, 513, 11}, {100, 40, 70}, {70, 600, 13}, {64, 9, 200}, {5, 1100, 193},
		{4 * 64, 30, 1}, {9*64 + 7, 31, 1},
	}
	r := newRand(1)
	for range 12 {
		shapes = append(shapes, struct{ rows, cols, n int }{1 + r.IntN(200), 1 + r.IntN(300), 1 + r.IntN(70)})
	}
	for _, f := range formats {
		for _, s := range shapes {
			p := newProduct(r, f, s.rows, s.cols, s.n, s.cols+r.IntN(3))
			t.Run(fmt.Sprintf("%s_%dx%d_n%d", f, s.rows, s.cols, s.n), func(t *testing.T) {
				eachLevel(t, func(t *testing.T, _ Level) {
					ldy := s.rows + 3
					y := guarded(s.n*ldy + 1)[1:]
					p.m.Mul(y, ldy, p.x, p.ldx, s.n, 0, p.m.Panels())
					p.check(t, y, ldy)
					for i, v := range y {
						if i%ldy >= s.rows && v != guard {
							t.Fatalf("wrote y[%d], past the %d rows of %d", i, s.rows, ldy)
						}
					}
				})
			})
		}
	}
}

// Ranges of panels, in any order and from many goroutines, make up the whole.
func TestMulPanels(t *testing.T) {
	const rows, cols, n = 64*4 + 10, 130, 9
	for _, f := range formats {
		p := newProduct(newRand(2), f, rows, cols, n, cols)
		eachLevel(t, func(t *testing.T, _ Level) {
			y := guarded(n * rows)
			var wg sync.WaitGroup
			for _, c := range [][2]int{{3, 5}, {0, 1}, {1, 3}, {2, 2}} {
				wg.Go(func() { p.m.Mul(y, rows, p.x, cols, n, c[0], c[1]) })
			}
			wg.Wait()
			p.check(t, y, rows)

			y = guarded(n * rows)
			p.m.Mul(y, rows, p.x, cols, n, 1, 2)
			for i, v := range y {
				if in := i%rows >= 64 && i%rows < 128; !in && v != guard || in && v == guard {
					t.Fatalf("%s: panel 1 alone left y[%d] = %g", f, i, v)
				}
			}
		})
	}
}

// A row of the product is the same, bit for bit, alone and in any batch.
func TestMulBatchInvariant(t *testing.T) {
	const rows, n = 5*64 + 22, 40
	for i, f := range append(formats, formats...) {
		cols := 4*kBlock + 36 + i/len(formats)
		p := newProduct(newRand(3), f, rows, cols, n, cols)
		eachLevel(t, func(t *testing.T, _ Level) {
			whole := make([]float32, n*rows)
			p.m.Mul(whole, rows, p.x, cols, n, 0, p.m.Panels())
			for at, size := 0, 1; at < n; at, size = at+size, size%7+1 {
				size = min(size, n-at)
				part := make([]float32, size*rows)
				p.m.Mul(part, rows, p.x[at*cols:], cols, size, 0, p.m.Panels())
				sameBits(t, fmt.Sprintf("%s rows from %d", f, at), part, whole[at*rows:(at+size)*rows])
			}
		})
	}
}

// All levels with fused multiply-add agree bit for bit, but for the pair dot
// product of AVX512BF16.
func TestMulLevelsAgree(t *testing.T) {
	if Best() < AVX512 {
		t.Skip("one level with fused multiply-add")
	}
	defer Use(Current())
	const rows, cols, n = 100, 301, 13
	for _, f := range formats {
		p := newProduct(newRand(4), f, rows, cols, n, cols)
		var want []float32
		for l := AVX2; l <= Best(); l++ {
			if l == AVX512BF16 && f == BF16Dot {
				continue
			}
			Use(l)
			y := make([]float32, n*rows)
			p.m.Mul(y, rows, p.x, cols, n, 0, p.m.Panels())
			if want == nil {
				want = y
			}
			sameBits(t, fmt.Sprintf("%s at %s", f, l), y, want)
		}
	}
}

// The activations of BF16Dot outgrow the scratch when there are many columns.
func TestMulManyColumns(t *testing.T) {
	cols := scratchLen*2/rowBlock*2 + 5
	for _, f := range formats {
		p := newProduct(newRand(5), f, 3, cols, rowBlock, cols)
		eachLevel(t, func(t *testing.T, _ Level) {
			y := make([]float32, rowBlock*3)
			p.m.Mul(y, 3, p.x, cols, rowBlock, 0, 1)
			p.check(t, y, 3)
		})
	}
}

func TestMulPanics(t *testing.T) {
	m := Pack(65, 10, F32, func(int, []float32) {})
	y, x := make([]float32, 2*65), make([]float32, 20)
	cases := map[string]func(){
		"y short":     func() { m.Mul(y[:129], 65, x, 10, 2, 0, 2) },
		"x short":     func() { m.Mul(y, 65, x[:19], 10, 2, 0, 2) },
		"rows share":  func() { m.Mul(y, 64, x, 10, 2, 0, 2) },
		"panel above": func() { m.Mul(y, 65, x, 10, 2, 0, 3) },
		"panel below": func() { m.Mul(y, 65, x, 10, 2, -1, 1) },
		"row":         func() { m.Row(65, x) },
		"no columns":  func() { Pack(1, 0, F32, nil) },
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
	m.Mul(y[:64], 65, x, 10, 1, 0, 1) // just enough
	m.Mul(nil, 0, nil, 0, 0, 0, 2)
}

func TestPackRow(t *testing.T) {
	r := newRand(6)
	for _, f := range formats {
		for _, s := range [][2]int{{1, 1}, {64, 5}, {77, 12}, {130, 33}} {
			rows, cols := s[0], s[1]
			w := normals(r, rows*cols)
			next := 0
			m := Pack(rows, cols, f, func(i int, dst []float32) {
				if i != next || len(dst) != cols {
					t.Fatalf("asked for row %d with %d elements, want row %d with %d", i, len(dst), next, cols)
				}
				next++
				copy(dst, w[i*cols:])
			})
			got := make([]float32, cols)
			for i := range rows {
				m.Row(i, got)
				for c, v := range w[i*cols : (i+1)*cols] {
					if f != F32 {
						v = FromBF16(ToBF16(v))
					}
					if got[c] != v {
						t.Fatalf("%s %d×%d: row %d[%d] = %g, want %g", f, rows, cols, i, c, got[c], v)
					}
				}
			}
			perCol := map[Format]int{F32: 256, BF16: 128, BF16Dot: 128}[f]
			if want := (rows + 63) / 64 * perCol * (cols + map[bool]int{true: cols % 2}[f != F32]); m.Bytes() != want {
				t.Errorf("%s %d×%d: %d bytes, want %d", f, rows, cols, m.Bytes(), want)
			}
		}
	}
}

// Matrices of several large pages are like any other.
func TestPackLarge(t *testing.T) {
	const rows, cols = 64 * 64, 300
	m := Pack(rows, cols, F32, func(r int, dst []float32) { dst[r%cols] = float32(r) })
	got, want := make([]float32, cols), make([]float32, cols)
	for r := range rows {
		m.Row(r, got)
		want[r%cols] = float32(r)
		sameBits(t, "row", got, want)
		want[r%cols] = 0
	}
}

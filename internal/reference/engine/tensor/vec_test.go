package tensor

import (
	"math"
	"testing"
)

// lengths cover whole vectors, tails and both, for vectors of 8 and 16.
var lengths = []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 1000, 1029}

// eachLength runs f at every level and length on three random vectors, each
// followed by a guard that must survive.
func eachLength(t *testing.T, f func(t *testing.T, a, b, c []float32)) {
	eachLevel(t, func(t *testing.T, _ Level) {
		r := newRand(9)
		for _, n := range lengths {
			var v [3][]float32
			for i := range v {
				v[i] = append(normals(r, n), guard)
			}
			f(t, v[0][:n:n], v[1][:n:n], v[2][:n:n])
			for i := range v {
				if v[i][n] != guard {
					t.Fatalf("%d elements: wrote past the end of operand %d", n, i)
				}
			}
		}
	})
}

func clone(x []float32) []float32 { return append([]float32(nil), x...) }

func TestAdd(t *testing.T) {
	eachLength(t, func(t *testing.T, a, b, c []float32) {
		Add(c, a, b)
		for i := range c {
			near(t, "sum", i, float64(c[i]), float64(a[i]+b[i]), 0)
		}
		was := clone(a)
		Add(a, a, a)
		for i := range a {
			near(t, "in place", i, float64(a[i]), float64(was[i]*2), 0)
		}
	})
}

func TestAxpyScale(t *testing.T) {
	eachLength(t, func(t *testing.T, a, b, _ []float32) {
		was := clone(a)
		Axpy(a, 0.7, b)
		for i := range a {
			near(t, "axpy", i, float64(a[i]), float64(was[i])+float64(float32(0.7))*float64(b[i]), 5e-7)
		}
		was = clone(a)
		Scale(a, -3)
		for i := range a {
			near(t, "scale", i, float64(a[i]), float64(was[i]*-3), 0)
		}
	})
}

func TestDot(t *testing.T) {
	eachLength(t, func(t *testing.T, a, b, _ []float32) {
		want, weight := 0.0, 0.0
		for i := range a {
			v := float64(a[i]) * float64(b[i])
			want, weight = want+v, weight+math.Abs(v)
		}
		near(t, "dot", len(a), float64(dot(Current(), a, b)), want, 2e-7*weight)
	})
}

func TestRMSNorm(t *testing.T) {
	eachLength(t, func(t *testing.T, x, w, dst []float32) {
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		s := 1 / math.Sqrt(sum/float64(len(x))+1e-5)
		RMSNorm(dst, x, w, 1e-5)
		for i := range dst {
			want := float64(x[i]) * s * float64(w[i])
			near(t, "norm", i, float64(dst[i]), want, 4e-7*math.Abs(want))
		}
		RMSNorm(x, x, w, 1e-5)
		sameBits(t, "in place", x, dst)
	})
}

func TestSiLUMul(t *testing.T) {
	eachLength(t, func(t *testing.T, gate, up, dst []float32) {
		for i := range gate {
			gate[i] *= 8
		}
		gate[0] = []float32{-200, -89, 89, 200, 0}[len(gate)%5]
		SiLUMul(dst, gate, up)
		for i := range dst {
			g := float64(gate[i])
			want := g / (1 + math.Exp(-g)) * float64(up[i])
			near(t, "silu", i, float64(dst[i]), want, 4e-7*math.Abs(want)+1e-35)
		}
		SiLUMul(up, gate, up)
		sameBits(t, "in place", up, dst)
	})
}

func TestRope(t *testing.T) {
	eachLength(t, func(t *testing.T, x, cos, sin []float32) {
		if len(x)%2 == 1 {
			return
		}
		h := len(x) / 2
		was := clone(x)
		Rope(x, cos[:h], sin[:h])
		for i := range h {
			a, b, c, s := float64(was[i]), float64(was[i+h]), float64(cos[i]), float64(sin[i])
			near(t, "first half", i, float64(x[i]), a*c-b*s, 1e-6)
			near(t, "second half", i, float64(x[i+h]), b*c+a*s, 1e-6)
		}
	})
}

func TestSoftmax(t *testing.T) {
	eachLength(t, func(t *testing.T, x, y, _ []float32) {
		for i := range x {
			x[i] *= 20 // extends far below the range of exp
		}
		if len(x) > 3 {
			x[1], x[len(x)-1] = float32(math.Inf(-1)), 100
		}
		want, sum := make([]float64, len(x)), 0.0
		top := float64(maxOf(Current(), x))
		for i, v := range x {
			want[i] = math.Exp(float64(v) - top)
			sum += want[i]
		}
		was := clone(x)
		lse := LogSumExp(x, y)
		near(t, "logsumexp", len(x), float64(lse), top+math.Log(sum), 1e-6*math.Abs(top)+1e-6)
		sameBits(t, "logsumexp's input", x, was)
		Softmax(x)
		for i := range x {
			// exp turns the rounding of its argument into a relative error
			rel := 5e-7 + 1e-7*min(100, top-float64(was[i]))
			near(t, "softmax", i, float64(x[i]), want[i]/sum, rel*want[i]/sum+1e-37)
		}
	})
}

func TestMaxIdx(t *testing.T) {
	if MaxIdx(nil) != -1 {
		t.Error("nothing has a maximum")
	}
	eachLevel(t, func(t *testing.T, _ Level) {
		for _, n := range append(lengths, 3000) {
			for _, at := range []int{0, n / 3, n - 1} {
				x := make([]float32, n)
				for i := range x {
					x[i] = -5 - float32(i%7)
				}
				x[at], x[n-1] = -4, -4 // the first of equals counts
				if got := MaxIdx(x); got != at {
					t.Fatalf("%d elements: maximum at %d, want %d", n, got, at)
				}
				if got := maxOf(Current(), x); got != -4 {
					t.Fatalf("%d elements: maximum %g, want -4", n, got)
				}
			}
		}
		inf := []float32{float32(math.Inf(-1)), float32(math.Inf(-1))}
		if got := MaxIdx(inf); got != 0 {
			t.Errorf("maximum of -Inf at %d, want 0", got)
		}
	})
}

func TestBF16(t *testing.T) {
	cases := []struct {
		bits uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, // 1
		{0x3f808000, 0x3f80}, // halfway, to even below
		{0x3f818000, 0x3f82}, // halfway, to even above
		{0x3f808001, 0x3f81},
		{0x3f807fff, 0x3f80},
		{0x7f7fffff, 0x7f80}, // overflows to infinity
		{0xff800000, 0xff80}, // -Inf
		{0x7fffffff, 0x7fff}, // NaN
		{0xff800001, 0xffc0}, // NaN whose payload is below
		{0x80000000, 0x8000}, // -0
		{0x00000001, 0x0000},
		{0x00018000, 0x0002}, // denormal
	}
	src := make([]float32, len(cases))
	for i, c := range cases {
		src[i] = math.Float32frombits(c.bits)
		if got := ToBF16(src[i]); got != c.want {
			t.Errorf("bf16 of %08x = %04x, want %04x", c.bits, got, c.want)
		}
	}
	eachLength(t, func(t *testing.T, a, b, _ []float32) {
		copy(a, src)
		got := make([]uint16, len(a)+1)
		EncodeBF16(got, a)
		for i, x := range a {
			if want := ToBF16(x); got[i] != want {
				t.Fatalf("encode[%d] of %08x = %04x, want %04x", i, math.Float32bits(x), got[i], want)
			}
		}
		if got[len(a)] != 0 {
			t.Fatal("encode wrote past the end")
		}
		DecodeBF16(b, got[:len(b)])
		for i := range b {
			if want := FromBF16(got[i]); math.Float32bits(b[i]) != math.Float32bits(want) {
				t.Fatalf("decode[%d] = %g, want %g", i, b[i], want)
			}
		}
	})
}

func TestLengthPanics(t *testing.T) {
	a, b := make([]float32, 4), make([]float32, 5)
	cases := map[string]func(){
		"add":     func() { Add(a, a, b) },
		"axpy":    func() { Axpy(a, 1, b) },
		"rmsnorm": func() { RMSNorm(a, a, b, 0) },
		"silu":    func() { SiLUMul(b, a, a) },
		"rope":    func() { Rope(b, a[:2], a[:2]) },
		"encode":  func() { EncodeBF16(make([]uint16, 3), a) },
		"decode":  func() { DecodeBF16(a, make([]uint16, 5)) },
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
